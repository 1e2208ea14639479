#!lua flags=allow-oom
-- Ends or renews claims, each only with its current token. Per claim: verb, key, token and
--   commit  -         the effect is done: the thing is gone, and the ledger says so
--   renew   claim-ms  the handler still runs
--   retry   delay-ms  it failed: again after the delay, or a dead letter after too many attempts
--   later   delay-ms  it could not be tried: again after the delay, and the attempt does not count
-- KEYS  meta things closing claims letters data ledger
-- ARGV  kind reason space by capacity attempts-max claims…
-- REPLY statuses…
--@include time.lua
--@include unfinished.lua
--@include ledger.lua
local now = clock()
local reply = {}
for i = 7, #ARGV, 4 do
  local verb, key, token, argument = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local text = redis.call('HGET', KEYS[3], key)
  local current, attempts, by, evidence
  if text then
    current, attempts, by, evidence = string.match(text, '^(%d+) (%d+) (%S+) (.*)$')
  end
  if not text then
    reply[#reply + 1] = 'ALREADY'
  elseif current ~= token then
    reply[#reply + 1] = 'STALE'
  elseif verb == 'commit' then
    local id = string.sub(key, 18)
    redis.call('HDEL', KEYS[3], key)
    redis.call('ZREM', KEYS[4], key)
    redis.call('HDEL', KEYS[6], key)
    unfinished(KEYS[2], '=' .. id, -1)
    redis.call('HINCRBY', KEYS[1], 'closed', 1)
    record_gone(KEYS[7], ARGV[5], ARGV[1], ARGV[3], ARGV[2], evidence .. ', token ' .. token, ARGV[4], id)
    reply[#reply + 1] = 'OK'
  elseif verb == 'retry' and tonumber(attempts) >= tonumber(ARGV[6]) then
    redis.call('HSET', KEYS[3], key, '0 ' .. attempts .. ' ' .. by .. ' ' .. evidence)
    redis.call('ZREM', KEYS[4], key)
    redis.call('ZADD', KEYS[5], now, key)
    unfinished(KEYS[2], string.sub(key, 17), -1)
    reply[#reply + 1] = 'DEAD'
  else
    if verb == 'later' then
      -- The token ends here: the same call again, late, would take a second attempt away.
      redis.call('HSET', KEYS[3], key, '0 ' .. attempts - 1 .. ' ' .. by .. ' ' .. evidence)
    end
    redis.call('ZADD', KEYS[4], now + argument, key)
    reply[#reply + 1] = 'OK'
  end
end
return reply
