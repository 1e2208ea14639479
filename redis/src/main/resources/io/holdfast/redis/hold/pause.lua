#!lua flags=allow-oom
-- Pauses a shard, or lifts the pause: nothing lapses and no session is closed while it is set. After it is lifted every
-- lease has one whole length to renew (quiet time).
-- Repeat: harmless.
-- KEYS  meta lengths deadlines
-- ARGV  paused by why
-- REPLY status
--@include ../lease/time.lua
--@include ../lease/quiet.lua
local meta, lengths = KEYS[1], KEYS[2]
local paused, by, why = ARGV[1] == '1', ARGV[2], ARGV[3]
local now = clock()
if not redis.call('HGET', meta, 'layout') then
  return {'CLOSED'}
end
if paused then
  redis.call('HSET', meta, 'paused', by .. '\n' .. string.format('%d', now) .. '\n' .. why)
else
  redis.call('HSET', meta, 'paused', '', 'quiet', now + longest_lease(meta, lengths))
end
return {'OK'}
