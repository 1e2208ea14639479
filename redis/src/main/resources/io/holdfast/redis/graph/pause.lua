#!lua flags=allow-oom
-- Pauses a graph, or lifts the pause: nothing lapses and nothing is freed while it is set. After it is lifted every lease
-- has as long as the longest one to be renewed.
-- Repeat: harmless.
-- KEYS  meta
-- ARGV  paused by why
-- REPLY status
local meta = KEYS[1]
--@include shard.lua
local paused, by, why = ARGV[1] == '1', ARGV[2], ARGV[3]
if paused then
  redis.call('HSET', meta, 'paused', by .. '\n' .. digits(now) .. '\n' .. why)
else
  redis.call('HSET', meta, 'paused', '', 'quiet', digits(now + length_of(about[4])))
end
return {'OK'}
