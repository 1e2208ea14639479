#!lua flags=allow-oom
-- Gives a dead letter its attempts back: it is due at once. Refused while a newer epoch of the thing is open, if
-- `alone` is 1: closing the older one would then meet the newer one.
-- Statuses: OK; GONE: there is no such letter; SERVED: a newer epoch is open; BUSY: too many epochs are unfinished.
-- Repeat: GONE.
-- KEYS  things closing claims letters
-- ARGV  key alone
-- REPLY status
--@include ../lease/time.lua
--@include unfinished.lua
--@include tally.lua
local things, closing, claims, letters = unpack(KEYS)
local key, alone = ARGV[1], ARGV[2]
local id = string.sub(key, 17)
local got = redis.call('HMGET', things, 'T', 'U', id)
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local record, letter = got[3], redis.call('HGET', closing, key)
if not letter or not redis.call('ZSCORE', letters, key) then
  return {'GONE'}
end
if record and alone == '1' and string.byte(record) ~= 48 then
  return {'SERVED'}
end
if record and string.sub(record, 17, 17) == '9' then
  return {'BUSY'}
end
local by, evidence = string.match(letter, '^%d+ %d+ %d+ (%S+) (.*)$')
local raised = raise(things)
redis.call('HSET', closing, key, '0 0 0 ' .. by .. ' ' .. evidence)
redis.call('ZADD', claims, clock(), key)
redis.call('ZREM', letters, key)
unfinished(things, id, 1)
redis.call('HSET', things, 'U', raised)
return {'OK'}
