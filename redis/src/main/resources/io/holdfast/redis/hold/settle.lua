#!lua flags=allow-oom
-- Ends or renews claims, each only with its current token. Per claim: verb, key, token, ms and reason:
--   commit            the effect is done: the thing is gone, and the ledger says so
--   renew   claim-ms  the handler still runs
--   retry   delay-ms  it failed, for that reason: again after the delay, or a dead letter after too many failures
--   later   delay-ms  it could not be tried: again after the delay, and nothing counts
--   bury              it failed, for that reason, and trying again would not help: a dead letter at once
-- Statuses: OK; DEAD: it is a dead letter now; STALE: another claim has replaced this one; ALREADY: it is finished.
-- Repeat: harmless. A token ends with the first result, so a repeat is told STALE or ALREADY.
-- KEYS  meta things closing claims letters data ledger
-- ARGV  kind reason space by capacity failures-max claims…
-- REPLY statuses…
--@include ../lease/time.lua
--@include unfinished.lua
--@include ledger.lua
--@include tally.lua
local meta, things, closing, claims, letters, data, ledger = unpack(KEYS)
local kind, gone, space, settler, capacity, failures_max = unpack(ARGV)
local now = clock()
local noted = redis.call('HMGET', things, 'T', 'U')
if is_torn(noted[1], noted[2]) then
  return redis.error_reply(TORN)
end
local raised

local function commit(key, token, evidence)
  local id = string.sub(key, 18)
  redis.call('HDEL', closing, key)
  redis.call('HDEL', data, key)
  redis.call('ZREM', claims, key)
  redis.call('HINCRBY', meta, 'closed', 1)
  record_gone(ledger, capacity, kind, space, gone, evidence .. ', token ' .. token, settler, id)
  unfinished(things, '=' .. id, -1)
  return 'OK'
end

local function bury(key, failures, lapses, by, evidence, why)
  redis.call('HSET', closing, key, '0 ' .. failures .. ' ' .. lapses .. ' ' .. by .. ' ' .. evidence .. '; ' .. why)
  redis.call('ZADD', letters, now, key)
  redis.call('ZREM', claims, key)
  unfinished(things, string.sub(key, 17), -1)
  return 'DEAD'
end

local function settle(verb, key, token, ms, why)
  local record = redis.call('HGET', closing, key)
  if not record then
    return 'ALREADY'
  end
  local current, failures, lapses, by, evidence = string.match(record, '^(%d+) (%d+) (%d+) (%S+) (.*)$')
  if current ~= token then
    return 'STALE'
  end
  if verb == 'renew' then
    redis.call('ZADD', claims, now + ms, key)
    return 'OK'
  end
  raised = raised or raise(things)
  if verb == 'commit' then
    return commit(key, token, evidence)
  end
  if verb ~= 'later' then
    failures = failures + 1
  end
  if verb == 'bury' or (verb == 'retry' and failures >= tonumber(failures_max)) then
    return bury(key, failures, lapses, by, evidence, why)
  end
  redis.call('HSET', closing, key, '0 ' .. failures .. ' ' .. lapses .. ' ' .. by .. ' ' .. evidence)
  redis.call('ZADD', claims, now + ms, key)
  return 'OK'
end

local reply = {}
for i = 7, #ARGV, 5 do
  reply[#reply + 1] = settle(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
end
if raised then
  redis.call('HSET', things, 'U', raised)
end
return reply
