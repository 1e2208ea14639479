#!lua flags=allow-oom
-- Gives a lease up. Its deadline stays until it has passed, so that a late repeat of its creation is refused.
-- Repeat: harmless.
-- KEYS  things lengths
-- ARGV  lease
-- REPLY status
--@include tally.lua
local things, lengths = KEYS[1], KEYS[2]
local lease = ARGV[1]
local got = redis.call('HMGET', things, 'T', 'U', lease)
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
if got[3] then
  local raised = raise(things)
  redis.call('ZREM', lengths, lease)
  redis.call('HDEL', things, lease)
  redis.call('HSET', things, 'U', raised)
end
return {'OK'}
