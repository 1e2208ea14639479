#!lua flags=allow-oom
-- A write without meaning before WAIT, which counts from the last write of its connection. It goes by itself after a minute.
-- Repeat: harmless.
-- KEYS  fence
-- ARGV
-- REPLY status
redis.call('SET', KEYS[1], '', 'PX', 60000)
return {'OK'}
