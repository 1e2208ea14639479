#!lua flags=allow-oom
-- Gives a lease up. Its deadline stays until it has passed, so that a late repeat of its creation is refused.
-- KEYS  things
-- ARGV  lease
-- REPLY status
redis.call('HDEL', KEYS[1], ARGV[1])
return {'OK'}
