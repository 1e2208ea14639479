#!lua
-- Makes a shard ready for an instance, or says how it differs from what the instance expects.
-- KEYS  meta things
-- ARGV  layout shards mode lease-ms noted…
-- REPLY status now-ms found
--@include time.lua
--@include pulse.lua
local now = clock()
local found = redis.call('HMGET', KEYS[1], 'layout', 'shards', 'mode', 'longest')
for i, name in ipairs({'layout', 'shards', 'mode'}) do
  if found[i] and found[i] ~= ARGV[i] then
    return {'DIFFERS', now, name .. ' ' .. found[i]}
  end
end
local longest = math.max(tonumber(found[4]) or 0, tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'layout', ARGV[1], 'shards', ARGV[2], 'mode', ARGV[3], 'longest', longest)
if ARGV[5] then
  redis.call('HSET', KEYS[1], unpack(ARGV, 5))
end
-- A value of more than 64 bytes makes the hash a table from the start: as a list it would be searched from one end.
redis.call('HSET', KEYS[2], 'W', 'things of a set: =ID the thing, ,LEASE a living lease, E the highest epoch, W this')
redis.call('HSETNX', KEYS[2], 'E', '0000000000000000')
pulse(KEYS[1], now)
return {'OK', now, ''}
