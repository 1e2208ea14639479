#!lua
-- Keeps the open epoch of a key open for at least so long from now, beyond its windows, also if instances leave or die. The
-- latest of several extensions holds.
-- Repeat: extends from the time of the repeat.
-- KEYS  things due parts ends kept
-- ARGV  thing ms
-- REPLY status end-ms
--@include ../lease/time.lua
--@include ../hold/tally.lua
--@include marks.lua
local things, due, parts, ends, kept = unpack(KEYS)
local thing, now = ARGV[1], clock()
local got = redis.call('HMGET', things, thing, 'T', 'U')
local record = got[1]
if is_torn(got[2], got[3]) then
  return redis.error_reply(TORN)
end
if not record or string.byte(record) == 48 then
  return {'GONE', 0}
end
local epoch = string.sub(record, 1, 16)
local text = redis.call('HGET', parts, thing) or ''
local hard, extended = window_of(text, epoch)
local wished = math.max(now + ARGV[2], extended or 0)
local last = math.max(hard or 0, wished)
local raised = raise(things)
redis.call('ZADD', ends, last, thing)
redis.call('ZADD', kept, wished, thing)
if string.byte(record, 18) ~= 44 then
  redis.call('ZADD', due, 'GT', wished, thing)
end
redis.call('HSET', parts, thing, marked(text, '!',
  epoch .. string.format(' %d %d %d', hard or wished, wished, math.floor(now / 1000))))
redis.call('HSET', things, 'U', raised)
return {'OK', last - now}
