#!lua flags=allow-oom
-- Mends one thing that a verify named, while that verify is still on: then every change since it began is noted, and if
-- neither the value nor the lease is, what the verify saw still holds. What is stored is compared once more all the same.
--   count     sets the count of a value to what its holds are
--   doom      gives a value that nothing holds to the work list
--   uncount   removes a count that belongs to no value
--   unedge    removes edges that belong to no value, and releases what they held
--   part      takes a neighbour that does not know it from a value in a line. What the two hold together is not known then, so
--             each of its children gets another hold: one too many rather than one too few
--   unchunk   removes a chunk that belongs to no value
--   unhold    removes a lease's hold on a value that is not there
--   unlease   gives the holds of a lease that is not there to the work list
--   deadline  gives a lease that has no deadline one, its length from now
-- KEYS  meta values counts edges leases lease-info held doomed ledger changed incoming
-- ARGV  token fix id field expected fixed lease evidence by space capacity
-- REPLY status
local meta, values, counts, edges, leases, info, held, doomed, ledger, changed, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lease.lua
--@include lines.lua
--@include settle.lua
--@include leave.lua
--@include alive.lua

local token, fix, id, field, expected, fixed, lease, evidence, by, space, capacity = unpack(ARGV)
if not noting or string.match(about[5], '^on;%d+;(.*)$') ~= token then return {'LOST'} end
if id ~= '' and redis.call('SISMEMBER', changed, id) == 1 then return {'CHANGED'} end
if lease ~= '' and redis.call('SISMEMBER', changed, lease) == 1 then return {'CHANGED'} end

local count = id ~= '' and redis.call('HGET', key_of(counts, id), id) or ''
if count ~= expected then return {'CHANGED'} end
local there = redis.call('HEXISTS', key_of(values, id), id) == 1 or string.find(count, '|', 1, true) ~= nil
local cause = 'M' .. string.sub(evidence, 1, 200)

if fix == 'count' then
  if not there then return {'CHANGED'} end
  redis.call('HSET', key_of(counts, id), id, fixed)
elseif fix == 'doom' then
  if not there then return {'CHANGED'} end
  redis.call('HSET', key_of(counts, id), id, fixed)
  redis.call('RPUSH', doomed, hint('v', cause, id))
elseif fix == 'uncount' then
  if there then return {'CHANGED'} end
  redis.call('HDEL', key_of(counts, id), id)
elseif fix == 'unedge' then
  local entry = redis.call('HGET', key_of(edges, field), field)
  if there or not entry then return {'CHANGED'} end
  cut = #parts_of(entry) / width
  redis.call('HDEL', key_of(edges, field), field)
  fetch_neighbours({entry}, 1)
  local list = #entry % width == 0 and entry or leave_line(id, entry)
  finish(release(list), cause, by, space, capacity)
elseif fix == 'part' then
  local entry = redis.call('HGET', key_of(edges, id), id)
  local list = parts_of(fixed)
  if not entry or parts_of(entry) ~= list then return {'CHANGED'} end
  local ids, more = {}, tally(list)
  for child in pairs(more) do ids[#ids + 1] = child end
  local numbers, shapes = look_up(ids)
  for i, child in ipairs(ids) do
    if numbers[i] then redis.call('HSET', key_of(counts, child), child, digits(numbers[i] + more[child]) .. shapes[i]) end
  end
  note(ids)
  redis.call('HSET', key_of(edges, id), id, fixed)
elseif fix == 'unchunk' then
  if there then return {'CHANGED'} end
  redis.call('HINCRBY', meta, 'chunks', -redis.call('HDEL', key_of(values, field), field))
elseif fix == 'unhold' then
  if there or redis.call('ZREM', held, lease .. id) == 0 then return {'CHANGED'} end
elseif fix == 'unlease' then
  if redis.call('HEXISTS', info, lease) == 1 then return {'CHANGED'} end
  redis.call('RPUSH', doomed, hint('l', cause, lease))
elseif fix == 'deadline' then
  local it = read_lease(lease)
  if not it or redis.call('ZSCORE', leases, lease) then return {'CHANGED'} end
  redis.call('ZADD', leases, digits(now + it.length), lease)
else
  return {'UNKNOWN'}
end
if id ~= '' then note({id}) end
if lease ~= '' then note({lease}) end
redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', id ~= '' and 'VALUE' or 'LEASE', 's', space,
  'r', 'REPAIRED', 'e', evidence, 'b', by, 'p', id ~= '' and id or lease, 'w', id ~= '' and about[1] or '8')
return {'OK'}
