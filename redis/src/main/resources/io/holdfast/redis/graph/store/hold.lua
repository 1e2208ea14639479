#!lua flags=allow-oom
-- Takes a lease, and with it a hold on a value if a target is named.
-- Statuses: OK; GONE: the value has ended; LAPSED: the lease was taken before and has ended; STALE: after valid-until.
-- Repeat: harmless; a late one finds the lease, which stays until valid-until, or comes too late.
--   lease:LEASE  hash  holder; valid, until when this call may arrive; seq and reply of the last put, absent: it has
--                      ended; and of each value that the lease holds its id
--   leases       sorted set  lease -> deadline               lengths  sorted set  lease -> length, of those not ended
-- KEYS  meta leases lengths lease small noted c
-- ARGV  name valid-until length-ms holder target
-- REPLY status now-ms run
--@include call.lua
local meta, leases, lengths, lease, small, noted, c = unpack(KEYS)
local name, valid_until, length_ms, holder, target = unpack(ARGV)
local call, refused = begin(meta)
if refused then return refused end
local now = clock()
local _, run = quiet(meta, lengths, leases, now)
local known = redis.call('HMGET', lease, 'valid', 'seq')
if known[1] then
  return {known[2] and 'OK' or 'LAPSED', now, run}
elseif now > tonumber(valid_until) then
  return {'STALE', now, run}
end
local seg = target ~= '' and load_segment(small, string.sub(target, 1, 16), {c = c})
if target ~= '' and (not seg or raise_holds(seg, string.sub(target, 18))[1]) then
  return {'GONE', now, run}
end
open_tally(call)
-- The lease comes first and its record last: what a torn log leaves of this call holds nothing, and lapses.
redis.call('ZADD', leases, now + length_ms, name)
redis.call('ZADD', lengths, length_ms, name)
local fields = {'holder', holder, 'valid', valid_until, 'seq', 0, 'reply', ''}
if seg then
  save_segment(seg)
  fields[9], fields[10] = target, ''
end
redis.call('HSET', lease, unpack(fields))
close_tally(call, noted)
return {'OK', now, run}
