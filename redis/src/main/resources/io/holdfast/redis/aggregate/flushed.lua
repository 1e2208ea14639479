#!lua flags=allow-oom
-- What was claimed is in the sink: it is gone from here, and the ledger says so. Per claim: key, token and a note; only
-- with the current token. The claim goes before the parts: if the log is cut in between, parts without a claim are left,
-- which a rebuild deletes, and not a claim without parts.
-- Repeat: ALREADY.
-- KEYS  meta things closing claims parts ledger
-- ARGV  space by capacity claims…
-- REPLY statuses…
--@include ../lease/time.lua
--@include ../hold/unfinished.lua
--@include ../hold/ledger.lua
--@include ../hold/tally.lua
local meta, things, closing, claims, parts, ledger = unpack(KEYS)
local space, by, capacity = ARGV[1], ARGV[2], ARGV[3]
local reply, done, gone = {}, {}, {}
local got = redis.call('HMGET', things, 'T', 'U')
if is_torn(got[1], got[2]) then
  return redis.error_reply(TORN)
end
for i = 4, #ARGV, 3 do
  local key, token = ARGV[i], ARGV[i + 1]
  local text = redis.call('HGET', closing, key)
  local current, evidence
  if text then
    current, evidence = string.match(text, '^(%d+) %d+ %d+ %S+ (.*)$')
  end
  if not text or done[key] then
    reply[#reply + 1] = 'ALREADY'
  elseif current ~= token then
    reply[#reply + 1] = 'STALE'
  else
    done[key] = true
    gone[#gone + 1] = {key = key, evidence = evidence .. ', ' .. ARGV[i + 2]}
    reply[#reply + 1] = 'OK'
  end
end
if not gone[1] then
  return reply
end
local raised, keys, freed = raise(things), {}, 0
for i, one in ipairs(gone) do
  keys[i] = one.key
  freed = freed + redis.call('HSTRLEN', parts, one.key)
end
redis.call('HDEL', closing, unpack(keys))
redis.call('ZREM', claims, unpack(keys))
redis.call('HDEL', parts, unpack(keys))
redis.call('HINCRBY', meta, 'bytes', -freed)
redis.call('HINCRBY', meta, 'closed', #keys)
for _, one in ipairs(gone) do
  unfinished(things, string.sub(one.key, 17), -1)
  record_gone(ledger, capacity, 'AGGREGATE', space, 'FLUSHED', one.evidence, by, string.sub(one.key, 18))
end
redis.call('HSET', things, 'U', raised)
return reply
