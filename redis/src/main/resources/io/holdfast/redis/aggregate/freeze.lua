#!lua flags=allow-oom
-- Ends the open epoch of a key: OK EPOCH, GONE, BUSY (too many earlier epochs are unfinished), or HELD LEASE if another
-- lease than the given one holds it; with an empty lease it is never refused.
-- Repeat: GONE, or the end of the next epoch.
-- KEYS  things due closing claims ends kept
-- ARGV  by evidence lease thing
-- REPLY status
--@include ../lease/time.lua
--@include ../hold/living.lua
--@include ../hold/tally.lua
--@include frozen.lua
local keys = {things = KEYS[1], due = KEYS[2], closing = KEYS[3], claims = KEYS[4], ends = KEYS[5], kept = KEYS[6]}
local by, evidence, lease, thing, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4], clock()
local got = redis.call('HMGET', keys.things, thing, 'T', 'U')
local record = got[1]
if is_torn(got[2], got[3]) then
  return redis.error_reply(TORN)
end
if not record or string.byte(record) == 48 then
  return {'GONE'}
end
if lease ~= '' and string.byte(record, 18) == 44 then
  for holder in string.gmatch(string.sub(living(keys.things, record), 18), ',[^,]+') do
    if holder ~= lease then
      return {'HELD ' .. string.sub(holder, 2)}
    end
  end
end
if string.byte(record, 17) == 57 then
  return {'BUSY'}
end
local raised = raise(keys.things)
freeze(keys, thing, record, now, by, evidence)
redis.call('HSET', keys.things, 'U', raised)
return {'OK ' .. string.sub(record, 1, 16)}
