#!lua flags=allow-oom
-- Claims what is due. A thing that nobody holds becomes CLOSING and moves to a record of its own, keyed EPOCH=ID;
-- a claim whose deadline passed is given anew, with a higher token, or becomes a dead letter after too many attempts.
-- KEYS  meta things due closing claims letters data
-- ARGV  limit claim-ms unfinished-max attempts-max by
-- REPLY status next-ms fresh again dead mistaken claims…
--@include time.lua
--@include pulse.lua
--@include unfinished.lua
local now, us = clock()
local quiet = pulse(KEYS[1], now)
if now < quiet then
  return {'QUIET', quiet - now, 0, 0, 0, 0}
end
local limit = tonumber(ARGV[1])
local token = math.max((tonumber(redis.call('HGET', KEYS[1], 'token') or 0)), us - 1)
local keys, records, sets, claims, fresh, again, dead, mistaken = {}, {}, {}, {}, 0, 0, 0, 0
local count, until_ms, by = 0, string.format('%d', now + ARGV[2]), ' ' .. ARGV[5] .. ' '
local function claim(key, attempts, evidence)
  token = token + 1
  local text = string.format('%d', token) .. ' ' .. attempts .. by .. evidence
  count = count + 1
  keys[count], records[count] = key, text
  sets[2 * count - 1], sets[2 * count] = key, text
  claims[2 * count - 1], claims[2 * count] = until_ms, key
end
-- A closing record is  TOKEN ATTEMPTS CLAIMER EVIDENCE.
for _, key in ipairs(limit > 0 and redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, limit) or {}) do
  local old = redis.call('HGET', KEYS[4], key)
  local attempts, claimer, evidence = string.match(old, '^%d+ (%d+) (%S+) (.*)$')
  if tonumber(attempts) >= tonumber(ARGV[4]) then
    redis.call('HSET', KEYS[4], key, '0 ' .. attempts .. ' ' .. claimer .. ' ' .. evidence)
    redis.call('ZREM', KEYS[5], key)
    redis.call('ZADD', KEYS[6], now, key)
    unfinished(KEYS[2], string.sub(key, 17), -1)
    dead = dead + 1
  else
    claim(key, attempts + 1, evidence)
    again = again + 1
  end
end
local due = {}
if limit > again then
  due = redis.call('ZRANGEBYSCORE', KEYS[3], 0, now, 'LIMIT', 0, limit - again)
end
if due[1] then
  local lives = redis.call('HMGET', KEYS[2], unpack(due))
  local closed, gone, files, unfinished_max = {}, {}, {}, tonumber(ARGV[3])
  for i, id in ipairs(due) do
    local life = lives[i] or ''
    local before = tonumber(string.sub(life, 17, 17))
    if string.byte(life, 18) == 44 then
      -- Held, and filed as due: a mistake of ours. What is held is never closed.
      local first = string.match(life, '^,[^,]+', 18)
      files[#files + 1], files[#files + 2] = -tonumber(string.sub(first, -12), 16), id
      mistaken = mistaken + 1
    elseif not before or string.byte(life) == 48 then
      gone[#gone + 1] = id
      mistaken = mistaken + 1
    elseif before >= unfinished_max then
      files[#files + 1], files[#files + 2] = now + 1000, id
    else
      claim(string.sub(life, 1, 16) .. id, 1, string.sub(life, 19))
      closed[#closed + 1], closed[#closed + 2] = id, '0000000000000000' .. (before + 1)
      gone[#gone + 1] = id
      fresh = fresh + 1
    end
  end
  if closed[1] then
    redis.call('HSET', KEYS[2], unpack(closed))
  end
  if gone[1] then
    redis.call('ZREM', KEYS[3], unpack(gone))
  end
  if files[1] then
    redis.call('ZADD', KEYS[3], unpack(files))
  end
end
local reply = {'OK', 0, fresh, again, dead, mistaken}
if keys[1] then
  redis.call('HSET', KEYS[4], unpack(sets))
  redis.call('ZADD', KEYS[5], unpack(claims))
  redis.call('HSET', KEYS[1], 'token', string.format('%.0f', token))
  local data = redis.call('HMGET', KEYS[7], unpack(keys))
  for i = 1, count do
    local at = 3 + 3 * i
    reply[at + 1], reply[at + 2], reply[at + 3] = keys[i], records[i], data[i] or ''
  end
end
local next_due = redis.call('ZRANGEBYSCORE', KEYS[3], 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local next_claim = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')[2]
local soonest = math.min(tonumber(next_due) or 1e15, tonumber(next_claim) or 1e15)
reply[2] = soonest == 1e15 and -1 or math.max(0, soonest - now)
return reply
