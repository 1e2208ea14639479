#!lua flags=no-writes
-- What is known of a key beside its holders: when its hard window ends, and its marks.
-- KEYS  meta ends parts
-- ARGV  thing
-- REPLY now-ms end-ms marks bytes
--@include ../lease/time.lua
return {
  (clock()),
  tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or -1),
  redis.call('HGET', KEYS[3], ARGV[1]) or '',
  tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0),
}
