#!lua flags=allow-oom
-- Forgets a dead letter: its data and its parts are gone, and the ledger says who discarded it.
-- Repeat: GONE.
-- KEYS  meta things closing letters data parts ledger
-- ARGV  key kind space by capacity
-- REPLY status
--@include ledger.lua
--@include tally.lua
local meta, things, closing, letters, data, parts, ledger = unpack(KEYS)
local key, kind, space, by, capacity = unpack(ARGV)
local noted = redis.call('HMGET', things, 'T', 'U')
if is_torn(noted[1], noted[2]) then
  return redis.error_reply(TORN)
end
local record = redis.call('HGET', closing, key)
if not record or not redis.call('ZSCORE', letters, key) then
  return {'GONE'}
end
local evidence = string.match(record, '^%d+ %d+ %d+ %S+ (.*)$')
local raised = raise(things)
local bytes = redis.call('HSTRLEN', parts, key)
if bytes > 0 then
  redis.call('HINCRBY', meta, 'bytes', -bytes)
  redis.call('HDEL', parts, key)
end
redis.call('HDEL', data, key)
redis.call('HDEL', closing, key)
redis.call('ZREM', letters, key)
record_gone(ledger, capacity, kind, space, 'DISCARDED', evidence, by, string.sub(key, 18))
redis.call('HSET', things, 'U', raised)
return {'OK'}
