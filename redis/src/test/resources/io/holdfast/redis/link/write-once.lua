#!lua flags=allow-oom
-- Writes a field unless it is there.
-- Repeat: writes nothing.
-- KEYS  meta
-- ARGV  field
-- REPLY status
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return {'ALREADY'}
end
redis.call('HSET', KEYS[1], ARGV[1], '1')
return {'OK'}
