#!lua
-- Makes a claim a dead letter at once, with the reason: trying again would not help. Its parts stay.
-- KEYS  things closing claims letters
-- ARGV  key token reason
-- REPLY status
--@include ../hold/time.lua
--@include ../hold/unfinished.lua
local now = clock()
local text = redis.call('HGET', KEYS[2], ARGV[1])
if not text then
  return {'ALREADY'}
end
local current, attempts, by, evidence = string.match(text, '^(%d+) (%d+) (%S+) (.*)$')
if current ~= ARGV[2] then
  return {'STALE'}
end
redis.call('HSET', KEYS[2], ARGV[1], '0 ' .. attempts .. ' ' .. by .. ' ' .. evidence .. '; ' .. ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], now, ARGV[1])
unfinished(KEYS[1], string.sub(ARGV[1], 17), -1)
return {'DEAD'}
