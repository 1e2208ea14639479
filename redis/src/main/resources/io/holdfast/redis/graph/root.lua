#!lua flags=allow-oom
-- Sets or drops a root, if it still has the version that the caller saw. The new target is held before the old one is
-- released. An absent root has version 0; what the caller saw of it counts only while no root of the shard was dropped
-- since (floor), so that a late repeat can never bring a dropped root back.
-- KEYS  meta values counts edges roots held doomed ledger changed incoming
-- ARGV  name expected floor target operation lease by space capacity
-- REPLY status version target floor freed
local meta, values, counts, edges, roots, held, doomed, ledger, changed, incoming = unpack(KEYS)
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lines.lua
--@include settle.lua

local name, expected, floor, target, operation, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local by, space, capacity = ARGV[7], ARGV[8], ARGV[9]
local dropped = redis.call('HGET', meta, 'dropped')
local root = redis.call('HGET', roots, name)
local version, last, old = '0', '', ''
if root then version, last, old = string.match(root, '^(%d+);(%x+);(.*)$') end
if root and last == operation then return {'OK', version, old, dropped} end
if version ~= expected or (not root and floor ~= dropped) then return {'CHANGED', version, old, dropped} end

local next_version = digits(math.max(micros, tonumber(version) + 1, tonumber(dropped) + 1))
if target == '' then
  if not root then return {'NOROOT', '0', '', dropped} end
  redis.call('HDEL', roots, name)
  redis.call('HSET', meta, 'dropped', next_version)
  local freed_ids = finish(release(old), 'Rroot ' .. name .. ' dropped', by, space, capacity)
  redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'ROOT', 's', space, 'r', 'RELEASED',
    'e', 'dropped at version ' .. version, 'b', by, 'i', #name .. ':' .. name)
  return {'OK', '0', '', next_version, freed_ids}
end

if #target ~= width then return {'WIDTH', version, about[1], dropped} end
local count = redis.call('HGET', key_of(counts, target), target)
local n, shape = 1, ''
if count then
  n, shape = holds(count)
elseif redis.call('HEXISTS', key_of(values, target), target) == 0 then
  n = nil
end
if not n or n == 0 then return {shape == 'b' and 'BUILDING' or 'GONE', version, target, dropped} end
note({target})
-- A writer that held the target hands its hold over; otherwise the root's is one more.
if lease == '' or redis.call('ZREM', held, lease .. target) == 0 then
  set_all(counts, {target, digits(n + 1) .. shape}, true)
end
redis.call('HSET', roots, name, next_version .. ';' .. operation .. ';' .. target)
local freed_ids = root and finish(release(old), 'Rroot ' .. name .. ' moved on', by, space, capacity) or {}
return {'OK', next_version, target, dropped, freed_ids}
