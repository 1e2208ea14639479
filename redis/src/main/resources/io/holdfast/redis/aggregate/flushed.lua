#!lua flags=allow-oom
-- What was claimed is in the sink: it is gone from here, and the ledger says so. Per claim: key, token and a note; only
-- with the current token.
-- KEYS  meta things closing claims parts ledger ends
-- ARGV  space by capacity window-s claims…
-- REPLY statuses…
--@include ../hold/time.lua
--@include ../hold/unfinished.lua
--@include ../hold/ledger.lua
local now, reply = clock(), {}
for i = 5, #ARGV, 3 do
  local key, token, note = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local text = redis.call('HGET', KEYS[3], key)
  local current, evidence
  if text then
    current, evidence = string.match(text, '^(%d+) %d+ %S+ (.*)$')
  end
  if not text then
    reply[#reply + 1] = 'ALREADY'
  elseif current ~= token then
    reply[#reply + 1] = 'STALE'
  else
    local id = string.sub(key, 18)
    redis.call('HINCRBY', KEYS[1], 'bytes', -redis.call('HSTRLEN', KEYS[5], key))
    redis.call('HINCRBY', KEYS[1], 'closed', 1)
    redis.call('HDEL', KEYS[5], key)
    redis.call('HDEL', KEYS[3], key)
    redis.call('ZREM', KEYS[4], key)
    unfinished(KEYS[2], '=' .. id, -1)
    redis.call('ZADD', KEYS[7], 'NX', now + ARGV[4] * 1000, '=' .. id)
    record_gone(KEYS[6], ARGV[3], 'AGGREGATE', ARGV[1], 'FLUSHED', evidence .. ', ' .. note, ARGV[2], id)
    reply[#reply + 1] = 'OK'
  end
end
return reply
