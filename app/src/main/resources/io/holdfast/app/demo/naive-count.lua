#!lua
-- Counts the instances that serve a session, by one number.
-- KEYS  count
-- ARGV  by
-- REPLY count
return {redis.call('INCRBY', KEYS[1], ARGV[1])}
