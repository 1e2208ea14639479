#!lua
-- Puts a segment of new values, all or none, and may let a root name one of them. Then the old version ends as far as
-- it is packed, and what both hold changes hands (version.lua); the rest of it is queued.
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
-- KEYS  meta leases lengths lease roots segments small ids doomed noted ledger v e c h c…
-- ARGV  seq segment count counts packed content tops handed adopted edges version name expected target by space
-- ARGV  capacity rest…
-- REPLY status
-- Arguments
--   counts  c:SEGMENT as it is to be, or packed, the segment in one string; the other is ''. content: content ids
--   tops … edges  how many follow in rest: ids of tops; ids handed over; lists of values, one for each further key c;
--                 pairs of value and children; then, if the segment is not packed, its values
--   name …  a root, '' for none; target is one of the tops, and expected as in root.lua
--@include call.lua
--@include roots.lua
--@include content.lua
--@include ending.lua
--@include version.lua
local meta, leases, lengths, lease, roots, segments, small, ids, doomed, noted, ledger = unpack(KEYS, 1, 11)
local v, e, c, h = unpack(KEYS, 12, 15)
local seq, segment, count, counts, packed, content = unpack(ARGV, 1, 6)
local tops, handed, adopted, edges = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local FIXED, VERSION, NAME, BY, REST = 15, 11, 12, 15, 18
local by, space, capacity = unpack(ARGV, BY, BY + 2)
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
local names, adopt, loaded, missing = {}, {}, {}, {}
local function raise_all(seg, name, list)
  for _, value in ipairs(raise_holds(seg, list)) do
    missing[#missing + 1] = name .. '.' .. value
  end
end
for i = 1, adopted do names[i] = name_of(KEYS[FIXED + i]) end
for i, packed_one in ipairs(adopted > 0 and redis.call('HMGET', small, unpack(names)) or {}) do
  local name, list = names[i], ARGV[at_adopted + i - 1]
  if packed_one then -- raised first: what the old version lets go here, the new one may need
    loaded[name] = packed_segment(small, name, packed_one)
    raise_all(loaded[name], name, list)
  else
    adopt[name] = {holds = 0, key = KEYS[FIXED + i]}
    for value in string.gmatch(list, '%d+') do
      adopt[name][value] = (adopt[name][value] or 0) + 1
      adopt[name].holds = adopt[name].holds + 1
    end
  end
end
local work, change = new_work(), nil
if ARGV[NAME] ~= '' then change = root_change(call, roots, unpack(ARGV, VERSION, BY - 1)) end
local rooted = change and change.is == change.expected
if rooted and change.old then
  give_up_old(work, change)
  local now = clock()
  local quiet_until, _, paused = quiet(meta, lengths, leases, now)
  if now >= math.max(quiet_until, call.mark) and paused == '' then
    end_old_version(work, small, adopt, loaded)
  end
end
local raised = {}
for name, it in pairs(adopt) do
  if it.holds > 0 then
    local list = {}
    for value, holds in pairs(it) do
      if tonumber(value) then list[#list + 1] = string.rep(value .. ',', holds) end
    end
    local seg = load_segment(small, name, {c = it.key})
    raise_all(seg, name, table.concat(list))
    raised[#raised + 1] = seg
  end
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
for _, seg in ipairs(raised) do save_segment(seg) end
for _, seg in pairs(loaded) do
  if seg then save_segment(seg) end
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
if rooted then
  write_root(call, roots, change, clock(), by)
  write_endings(work, ids)
  queue_work(call, doomed, work)
  given[#given + 1] = change.target
end
if given[1] then redis.call('HDEL', lease, unpack(given)) end
call.values = call.values + count - record_freed(work, ledger, capacity, space, by)
close_tally(call, noted)
return {'OK ' .. (rooted and 1 or 0)}
