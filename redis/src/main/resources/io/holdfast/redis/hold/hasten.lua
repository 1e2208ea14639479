#!lua
-- Makes a thing that nobody holds due at once.
-- KEYS  things due
-- ARGV  thing
-- REPLY status
--@include time.lua
--@include living.lua
local now = clock()
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record or string.byte(record) == 48 then
  return {'GONE'}
end
if string.byte(record, 18) == 44 then
  local left, first = living(KEYS[1], record)
  if first then
    return {'HELD'}
  end
  redis.call('HSET', KEYS[1], ARGV[1], left .. '-closed by an operator')
end
redis.call('ZADD', KEYS[2], now, ARGV[1])
return {'OK'}
