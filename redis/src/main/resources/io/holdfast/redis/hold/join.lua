#!lua flags=allow-oom
-- Takes a lease for one incarnation of an instance. A repeat is harmless until valid-until: until then it finds the
-- lease's deadline, which outlives the lease; later it is refused.
-- KEYS  meta things deadlines lengths
-- ARGV  lease lease-ms valid-until-ms
-- REPLY status now-ms run
--@include ../lease/time.lua
--@include ../lease/quiet.lua
--@include tally.lua
local meta, things, deadlines, lengths = unpack(KEYS)
local lease, lease_ms, valid_until = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = clock()
if not redis.call('HGET', meta, 'layout') then
  return {'CLOSED', now, ''}
end
local got = redis.call('HMGET', things, 'T', 'U', lease)
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
if now >= valid_until then
  return {'LATE', now, ''}
end
local known = redis.call('ZSCORE', deadlines, lease)
if known and not got[3] then
  return {'LAPSED', now, ''}
end
local _, run = quiet(meta, lengths, deadlines, now)
if not known then
  local raised = raise(things)
  redis.call('ZADD', deadlines, now + lease_ms, lease)
  redis.call('ZADD', lengths, lease_ms, lease)
  redis.call('HSET', things, lease, '0000000000000000', 'U', raised)
end
return {'OK', now, run}
