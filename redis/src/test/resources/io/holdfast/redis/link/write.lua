#!lua
-- Writes a field.
-- KEYS  meta
-- ARGV  field value
-- REPLY status
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return {'OK'}
