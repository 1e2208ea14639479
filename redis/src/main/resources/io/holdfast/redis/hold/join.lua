#!lua
-- Takes a lease for one incarnation of an instance. It may be repeated until valid-until: by then a late repeat finds
-- either the lease's deadline, which stays until it has passed, or a time at which it is refused.
-- KEYS  meta things deadlines
-- ARGV  lease lease-ms valid-until-ms
-- REPLY status now-ms run
--@include time.lua
--@include pulse.lua
local now = clock()
if not redis.call('HGET', KEYS[1], 'layout') then
  return {'CLOSED', now, ''}
end
if now >= tonumber(ARGV[3]) then
  return {'LATE', now, ''}
end
local known = redis.call('ZSCORE', KEYS[3], ARGV[1])
if known and redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  return {'LAPSED', now, ''}
end
local _, run = pulse(KEYS[1], now)
if not known then
  redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], '0000000000000000')
end
return {'OK', now, run}
