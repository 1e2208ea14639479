#!lua flags=allow-oom
-- Renews a lease that nobody has marked dead, however late.
-- KEYS  meta things deadlines
-- ARGV  lease lease-ms
-- REPLY status now-ms run
--@include time.lua
--@include pulse.lua
local now = clock()
local _, run = pulse(KEYS[1], now)
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  return {'LAPSED', now, run}
end
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
return {'OK', now, run}
