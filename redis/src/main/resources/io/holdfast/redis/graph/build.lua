#!lua
-- Writes one chunk of a large value that is being built under a writer's lease: bytes or edges. The first chunk makes
-- the value; until it is sealed nothing can hold it but the lease. The chunk with part 's' seals it. A writer that was not
-- answered may begin again: a chunk that is there already stays as it is, with what it holds.
-- KEYS  meta values counts edges leases lease-info held changed incoming
-- ARGV  lease born sequence id part index data adopted adopted-counts handed
-- REPLY status detail shelf
local meta, values, counts, edges, leases, info, held, changed, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lease.lua
--@include alive.lua
--@include next-shelf.lua

local lease, sequence, id, part, index = ARGV[1], tonumber(ARGV[3]), ARGV[4], ARGV[5], tonumber(ARGV[6])
local writer = live_lease(lease)
if not writer or writer.born ~= ARGV[2] then return {'LAPSED', ''} end
if sequence == writer.sequence then return {'OK', ''} end
if sequence < writer.sequence then return {'STALE', ''} end

local state = redis.call('HGET', key_of(counts, id), id)
local v, e = 0, 0
if state then
  local n, letter = holds(state)
  if n then return {'EXISTS', id} end
  if letter ~= 'b' then return {'DRAINING', id} end
  local chunks_v, chunks_e, builder = string.match(state, '^b|(%d+),(%d+)|(.*)$')
  if builder ~= lease then return {'BUILDING', id} end
  v, e = tonumber(chunks_v), tonumber(chunks_e)
elseif redis.call('HEXISTS', key_of(values, id), id) == 1 then
  return {'EXISTS', id}
elseif part == 's' or index > 0 then
  return {'GONE', id}
end
if part == 'v' and index < v or part == 'e' and index < e then
  did(lease, writer, ARGV[3])
  return {'OK', ''}
end

local set = {}
local adopted = ids_of(ARGV[8])
if #adopted > 0 then
  local more = {}
  for word in string.gmatch(ARGV[9], '%d+') do more[#more + 1] = tonumber(word) end
  local raised, letter, child = raise(adopted, more)
  if not raised then return {letter == 'b' and 'BUILDING' or 'GONE', child} end
  set = raised
end
local handed = {}
for i, child in ipairs(ids_of(ARGV[10])) do handed[i] = lease .. child end
if #handed > 0 then
  for i, score in ipairs(redis.call('ZMSCORE', held, unpack(handed))) do
    if not score then return {'GONE', string.sub(handed[i], #lease + 1)} end
  end
end

note({id})
note(adopted)
if not state then redis.call('HINCRBY', meta, 'large', 1) end
if part == 's' then
  redis.call('HSET', key_of(counts, id), id, '1|' .. v .. ',' .. e)
else
  if part == 'v' then
    redis.call('HINCRBY', meta, 'chunks', redis.call('HSET', key_of(values, id), chunk(id, index), ARGV[7]))
    v = math.max(v, index + 1)
  else
    redis.call('HSET', key_of(edges, id), chunk(id, index), ARGV[7])
    redis.call('HINCRBY', meta, 'edges', digits(#ARGV[7] / width))
    e = math.max(e, index + 1)
    if #set > 0 then set_all(counts, set, true) end
    if #handed > 0 then redis.call('ZREM', held, unpack(handed)) end
  end
  set_all(counts, {id, 'b|' .. v .. ',' .. e .. '|' .. lease}, true)
  redis.call('ZADD', held, 0, lease .. id)
end
did(lease, writer, ARGV[3])
return {'OK', '', part == 's' and next_shelf(id) or ''}
