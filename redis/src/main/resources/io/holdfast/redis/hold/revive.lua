#!lua
-- Gives a dead letter its attempts back: it is due at once.
-- KEYS  things closing claims letters
-- ARGV  key
-- REPLY status
--@include time.lua
--@include unfinished.lua
local now = clock()
local text = redis.call('HGET', KEYS[2], ARGV[1])
if not text or not redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  return {'GONE'}
end
local record = redis.call('HGET', KEYS[1], string.sub(ARGV[1], 17))
if record and string.sub(record, 17, 17) == '9' then
  return {'BUSY'}
end
local by, evidence = string.match(text, '^%d+ %d+ (%S+) (.*)$')
redis.call('HSET', KEYS[2], ARGV[1], '0 0 ' .. by .. ' ' .. evidence)
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
unfinished(KEYS[1], string.sub(ARGV[1], 17), 1)
return {'OK'}
