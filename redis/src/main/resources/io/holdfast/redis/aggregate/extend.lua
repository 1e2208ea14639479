#!lua
-- Keeps the open epoch of a key open for at least so long from now, beyond its windows.
-- KEYS  things due ends
-- ARGV  thing ms
-- REPLY status end-ms
--@include ../hold/time.lua
local now = clock()
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record or string.byte(record) == 48 then
  return {'GONE', 0}
end
redis.call('ZADD', KEYS[3], 'GT', now + ARGV[2], ARGV[1])
if string.byte(record, 18) ~= 44 then
  redis.call('ZADD', KEYS[2], 'GT', now + ARGV[2], ARGV[1])
end
return {'OK', redis.call('ZSCORE', KEYS[3], ARGV[1]) - now}
