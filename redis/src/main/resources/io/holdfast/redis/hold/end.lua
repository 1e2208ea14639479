#!lua flags=allow-oom
-- Makes an open thing due at once. Refused while a living lease holds it, unless forced: then its holders are dropped.
-- Statuses: OK; GONE: it is not open; HELD.
-- Repeat: harmless.
-- KEYS  things due
-- ARGV  thing force by
-- REPLY status
--@include ../lease/time.lua
--@include living.lua
--@include tally.lua
local things, due = KEYS[1], KEYS[2]
local thing, force, by = ARGV[1], ARGV[2] == '1', ARGV[3]
local got = redis.call('HMGET', things, 'T', 'U', thing)
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
local record = got[3]
if not record or string.byte(record) == 48 then
  return {'GONE'}
end
if string.byte(record, 18) == 44 then
  local _, first = living(things, record)
  if first and not force then
    return {'HELD'}
  end
end
local now = clock()
local raised = raise(things)
redis.call('ZADD', due, now, thing)
local ended = '-' .. string.format('%d', now) .. ' ended by ' .. by
redis.call('HSET', things, thing, string.sub(record, 1, 17) .. ended, 'U', raised)
return {'OK'}
