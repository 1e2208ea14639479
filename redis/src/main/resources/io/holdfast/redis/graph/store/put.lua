#!lua
-- Puts a segment of new values, all or none, and may let a root name one of them.
-- Children outside the segment are handed over, if the lease holds them (the parent takes its hold), or adopted (one
-- hold more). The client has counted what the new values hold of each other; the lease holds the tops.
--
-- status, as it is kept for a repeat:
--   OK ROOT       ROOT is 1 if the root names its target now; a repeat always says 0: ask root.lua
--   GONE ID …     these children have ended                      EQUAL INDEX ID …   these values are there already
--   TAKEN         the segment is there already, as a torn call left it: try again when it was erased
--   LAPSED        the lease has ended       STALE   not the call that follows the lease's last: the server went back
-- Nothing was put but with OK; all but the last three use up seq.
-- Repeat: answers what the first call answered.
-- KEYS  meta lease roots segments small ids doomed noted v e c h c…
-- ARGV  seq segment count counts packed content tops handed adopted edges version name expected target by rest…
-- REPLY status
-- Arguments
--   counts  c:SEGMENT as it is to be, or packed, the segment in one string; the other is ''. content: content ids
--   tops … edges  how many follow in rest: ids of tops; ids handed over; lists of values, one for each further key c;
--                 pairs of value and children; then, if the segment is not packed, its values
--   name …  a root, '' for none; target is one of the tops, and expected as in root.lua
--@include call.lua
--@include roots.lua
--@include content.lua
local meta, lease, roots, segments, small, ids, doomed, noted, v, e, c, h = unpack(KEYS, 1, 12)
local seq, segment, count, counts, packed, content = unpack(ARGV, 1, 6)
local tops, handed, adopted, edges = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local VERSION, NAME, BY, REST = 11, 12, 15, 16
local at_handed = REST + tops
local at_adopted = at_handed + handed
local at_edges = at_adopted + adopted
local at_values = at_edges + 2 * edges

local call, refused = begin(meta)
if refused then return refused end
local last = redis.call('HMGET', lease, 'seq', 'reply')
if not last[1] then
  return {'LAPSED'}
elseif last[1] == seq then
  return {last[2]}
elseif tonumber(seq) ~= last[1] + 1 then
  return {'STALE'}
elseif redis.call('EXISTS', v, e, c) > 0 or redis.call('HEXISTS', small, segment) == 1 then
  return {'TAKEN'}
end

-- Look: whether the children are there, and whether equal values are.
local missing, raised = {}, {}
for i = 1, adopted do
  local key = KEYS[12 + i]
  local seg = load_segment(small, name_of(key), {c = key})
  for _, value in ipairs(raise_holds(seg, ARGV[at_adopted + i - 1])) do
    missing[#missing + 1] = name_of(key) .. '.' .. value
  end
  raised[i] = seg
end
if handed > 0 then
  for i, held in ipairs(redis.call('HMGET', lease, unpack(ARGV, at_handed, at_adopted - 1))) do
    missing[#missing + 1] = not held and ARGV[at_handed + i - 1] or nil
  end
end
local equal = find_equal(ids, content)
if missing[1] or equal[1] then
  local reply = missing[1] and 'GONE ' .. table.concat(missing, ' ') or 'EQUAL ' .. table.concat(equal, ' ')
  redis.call('HSET', lease, 'seq', seq, 'reply', reply)
  return {reply}
end

-- Write. Values come before what names them, the lease with all that it holds in one command: if a torn log leaves the
-- first part of this call, either nothing holds the new values or the lease knows that they were put.
open_tally(call)
note(segment)
if packed ~= '' then
  redis.call('HSET', small, segment, packed)
elseif tonumber(count) > 0 then
  redis.call('ZADD', segments, 0, segment)
  redis.call('RPUSH', v, unpack(ARGV, at_values))
  if edges > 0 then redis.call('HSET', e, unpack(ARGV, at_edges, at_values - 1)) end
  redis.call('SET', c, counts)
end
for _, seg in ipairs(raised) do
  save_segment(seg)
end
if content ~= '' then
  enter_content(ids, segment, content, packed == '' and h)
end
local fields = {'seq', seq, 'reply', 'OK 0'}
for i = REST, at_handed - 1 do
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = ''
end
redis.call('HSET', lease, unpack(fields))
local given = {unpack(ARGV, at_handed, at_adopted - 1)}
for _, id in ipairs(given) do
  note(string.sub(id, 1, 16))
end
local rooted = 0
if ARGV[NAME] ~= '' then
  local change = root_change(call, roots, unpack(ARGV, VERSION, BY - 1))
  if change.is == change.expected then
    local work = new_work()
    write_root(call, roots, change, clock(), ARGV[BY], work)
    queue_work(call, doomed, work)
    given[#given + 1] = change.target
    rooted = 1
  end
end
if given[1] then redis.call('HDEL', lease, unpack(given)) end
call.values = call.values + count
close_tally(call, noted)
return {'OK ' .. rooted}
