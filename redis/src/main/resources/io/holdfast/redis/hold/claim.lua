#!lua flags=allow-oom
-- Claims epochs that are to be closed: first those whose claim ran out, then those that became due.
--
-- KEYS  meta things due deadlines lengths closing claims letters data kept
-- ARGV  limit claim-ms unfinished-max lapses-max grace-ms while-paused by
-- REPLY status next-ms fresh again dead mistaken claims…
--
-- Arguments
--   limit           the most claims to give; 0: give none, reply next-ms only
--   claim-ms        how long a claim lasts unless settle.lua renews it
--   unfinished-max  an epoch is claimed only while fewer earlier epochs of its thing are closing
--   lapses-max      an epoch whose claims ran out so often without a result becomes a dead letter
--   grace-ms        the grace after a lapse, if the serving instances noted none in meta
--   while-paused    1: claims also while the set is paused
--   by              the claimer, as instance#incarnation
-- Reply
--   status     OK; QUIET or PAUSED: nothing was claimed, ask again in next-ms
--   next-ms    until the next epoch is due or the next claim runs out; -1: nothing waits
--   fresh      epochs claimed for the first time     again     epochs claimed again
--   dead       epochs that became dead letters       mistaken  entries that contradict their record: a bug
--   claims…    for each claim: EPOCH=ID, its closing record, its packed data fields ('' if none)
-- Closing record: TOKEN FAILURES LAPSES CLAIMER EVIDENCE; token 0: not claimed. FAILURES counts results of handlers,
-- LAPSES claims that ran out without one.
--
-- Promises
--   1. A thing that a living lease holds is never claimed, whatever `due` says: it is filed under that lease. Only a torn
--      acquire or release leaves one there.
--   2. Tokens of a shard only grow, also if the server's clock goes back: the last one is in meta.
--   3. One claim on an epoch is valid at a time: a new one replaces the token, and settle.lua refuses any other.
--   4. An epoch that is extended is not claimed before that time.
-- Not idempotent: a repeat claims other epochs. A claim whose reply is lost runs out after claim-ms, as a lapse.
--@include ../lease/time.lua
--@include ../lease/quiet.lua
--@include living.lua
--@include unfinished.lua
--@include tally.lua
local meta, things, due, deadlines, lengths, closing, claims, letters, data, kept = unpack(KEYS)
local limit, claim_ms, unfinished_max, lapses_max = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local grace_ms, while_paused, by = ARGV[5], ARGV[6] == '1', ARGV[7]
local RECHECK_MS = 1000 -- when to try again if too many earlier epochs are closing

local now, now_us = clock()
local noted = redis.call('HMGET', things, 'T', 'U')
if is_torn(noted[1], noted[2]) then
  return redis.error_reply(TORN)
end
local quiet_until, _, paused = quiet(meta, lengths, deadlines, now)
if paused ~= '' and not while_paused then
  return {'PAUSED', RECHECK_MS, 0, 0, 0, 0}
end
if now < quiet_until then
  return {'QUIET', quiet_until - now, 0, 0, 0, 0}
end

-- What is decided below, and written at the end.
local last_token = redis.call('HMGET', meta, 'token', 'grace')
local token, grace = math.max(tonumber(last_token[1] or 0), now_us - 1), last_token[2] or grace_ms
local keys, records = {}, {} -- of each claim
local refile, unfile, sets = {}, {}, {} -- arguments of ZADD due, ZREM due, HSET things
local buried, orphaned = {}, {} -- dead letters: key and record; entries of claims without a record
local fresh, again, dead, mistaken = 0, 0, 0, 0

local function claim(key, failures, lapses, evidence)
  token = token + 1
  local record = string.format('%d', token) .. ' ' .. failures .. ' ' .. lapses .. ' ' .. by .. ' ' .. evidence
  keys[#keys + 1], records[#records + 1] = key, record
end

local function claim_lapsed()
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', claims, '-inf', now, 'LIMIT', 0, limit)) do
    local record = redis.call('HGET', closing, key)
    if not record then
      orphaned[#orphaned + 1] = key
      mistaken = mistaken + 1
    else
      local old, failures, lapses, claimer, evidence = string.match(record, '^(%d+) (%d+) (%d+) (%S+) (.*)$')
      if old ~= '0' then
        lapses = lapses + 1
      end
      if tonumber(lapses) >= lapses_max then
        local why = '; ' .. lapses .. ' claims ran out without a result, the last by ' .. claimer
        record = '0 ' .. failures .. ' ' .. lapses .. ' ' .. claimer .. ' ' .. evidence .. why
        buried[#buried + 1] = {key = key, record = record}
        dead = dead + 1
      else
        claim(key, failures, lapses, evidence)
        again = again + 1
      end
    end
  end
end

-- Promise 1: files a held thing under its first living lease, or lets its grace begin.
local function refile_held(id, record)
  local left, first = living(things, record)
  if first then
    refile[#refile + 1], refile[#refile + 2] = -tonumber(string.sub(first, -12), 16), id
  else
    left = left .. '-' .. string.format('%d', now) .. ' lapsed with ' .. string.match(record, ',([^,]+)$', 18)
    refile[#refile + 1], refile[#refile + 2] = now + grace, id
  end
  if left ~= record then
    sets[#sets + 1], sets[#sets + 2] = id, left
  end
end

local function claim_due()
  local ids = redis.call('ZRANGEBYSCORE', due, 0, now, 'LIMIT', 0, limit - again)
  if not ids[1] then
    return
  end
  local lives = redis.call('HMGET', things, unpack(ids))
  local extensions = redis.call('ZMSCORE', kept, unpack(ids))
  for i, id in ipairs(ids) do
    local record = lives[i] or ''
    local before = tonumber(string.sub(record, 17, 17))
    if string.byte(record, 18) == 44 then
      refile_held(id, record)
      mistaken = mistaken + 1
    elseif not before or string.byte(record) == 48 then
      unfile[#unfile + 1] = id
      mistaken = mistaken + 1
    elseif extensions[i] and tonumber(extensions[i]) > now then
      refile[#refile + 1], refile[#refile + 2] = extensions[i], id
    elseif before >= unfinished_max then
      refile[#refile + 1], refile[#refile + 2] = now + RECHECK_MS, id
    else
      claim(string.sub(record, 1, 16) .. id, 0, 0, string.sub(record, 19))
      sets[#sets + 1], sets[#sets + 2] = id, '0000000000000000' .. (before + 1)
      unfile[#unfile + 1] = id
      fresh = fresh + 1
    end
  end
end

-- Records first, indexes then, things last; see tally.lua.
local function write(reply)
  local raised = raise(things)
  if keys[1] then
    local noted_claims, noted_until = {}, {}
    local deadline = string.format('%d', now + claim_ms)
    for i, key in ipairs(keys) do
      noted_claims[2 * i - 1], noted_claims[2 * i] = key, records[i]
      noted_until[2 * i - 1], noted_until[2 * i] = deadline, key
    end
    redis.call('HSET', meta, 'token', string.format('%.0f', token))
    redis.call('HSET', closing, unpack(noted_claims))
    redis.call('ZADD', claims, unpack(noted_until))
    local fields = redis.call('HMGET', data, unpack(keys))
    for i, key in ipairs(keys) do
      local at = 3 + 3 * i
      reply[at + 1], reply[at + 2], reply[at + 3] = key, records[i], fields[i] or ''
    end
  end
  for _, one in ipairs(buried) do
    redis.call('HSET', closing, one.key, one.record)
    redis.call('ZADD', letters, now, one.key)
    redis.call('ZREM', claims, one.key)
    unfinished(things, string.sub(one.key, 17), -1)
  end
  if orphaned[1] then
    redis.call('ZREM', claims, unpack(orphaned))
  end
  if unfile[1] then
    redis.call('ZREM', due, unpack(unfile))
  end
  if refile[1] then
    redis.call('ZADD', due, unpack(refile))
  end
  redis.call('HSET', things, 'U', raised, unpack(sets))
end

if limit > 0 then
  claim_lapsed()
end
if limit > again then
  claim_due()
end
local reply = {'OK', 0, fresh, again, dead, mistaken}
if keys[1] or buried[1] or orphaned[1] or unfile[1] or refile[1] then
  write(reply)
end

local next_due = redis.call('ZRANGEBYSCORE', due, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local next_claim = redis.call('ZRANGE', claims, 0, 0, 'WITHSCORES')[2]
local next_at = math.min(tonumber(next_due) or math.huge, tonumber(next_claim) or math.huge)
reply[2] = next_at == math.huge and -1 or math.max(0, next_at - now)
return reply
