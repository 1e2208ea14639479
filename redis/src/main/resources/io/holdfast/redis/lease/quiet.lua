-- Decides whether deadlines may be trusted. A server that was restarted or replaced, a time in which no script ran (the
-- server or everybody else stood still) and a jump of the server's clock prove nothing about a holder that seems late.
-- Then quiet time begins: every holder has as long as the longest lease that is out to renew, and nothing ends before.
--
-- meta: run       the server that was seen last: its run id and its replication id. A fail-back keeps the run id
--       seen      when a script looked last
--       quiet     until when nothing ends
--       remember  until when aggregates forget nothing: one redelivery window (`window`, in s) after quiet time began
--       lease     the lease of the instance that opened the set last
--       paused    who paused the set, when and why; '' or absent: it is not paused
-- lengths: lease -> its length, of the leases that are out      deadlines: lease -> when it lapses
local WATCH_MS = 3000 -- instances look once a second; a longer gap proves nothing
local LEASES_MAX = 1000

local function longest_lease(meta, lengths)
  local longest = redis.call('ZRANGE', lengths, -1, -1, 'WITHSCORES')[2]
  return math.max(tonumber(longest or 0), tonumber(redis.call('HGET', meta, 'lease') or 0))
end

-- How long a gap may be: half of the shortest lease that was in force when a script looked last. In quiet time the
-- length of dead short leases must not count, or rare looks would prolong it for ever.
local function gap_max(lengths, deadlines, seen, in_quiet)
  if not in_quiet then
    local shortest = redis.call('ZRANGE', lengths, 0, 3, 'WITHSCORES')
    for i = 1, #shortest, 2 do
      if tonumber(redis.call('ZSCORE', deadlines, shortest[i]) or 0) > seen then
        return math.min(WATCH_MS, shortest[i + 1] / 2)
      end
    end
  end
  return WATCH_MS
end

-- After the clock went back, deadlines lie too far ahead: each lease keeps one whole length.
local function shorten_deadlines(lengths, deadlines, now)
  local leases = redis.call('ZRANGE', lengths, 0, LEASES_MAX - 1, 'WITHSCORES')
  for i = 1, #leases, 2 do
    redis.call('ZADD', deadlines, 'XX', 'LT', now + leases[i + 1], leases[i])
  end
end

-- An id of 40 letters from the text of INFO; a pattern would be tried at every letter of it.
local function server_id(info, name)
  local _, colon = string.find(info, name .. ':', 1, true)
  return colon and string.sub(info, colon + 1, colon + 40) or ''
end

-- The server's run id and replication id; the last one seen where INFO is forbidden.
local function server_run(last)
  local info = redis.pcall('INFO', 'server', 'replication')
  if type(info) ~= 'string' then
    return last or ''
  end
  return server_id(info, 'run_id') .. '/' .. server_id(info, 'master_replid')
end

-- Returns until when nothing may end, the server's run, and who paused the set ('' if it is not paused).
local function quiet(meta, lengths, deadlines, now)
  local noted = redis.call('HMGET', meta, 'run', 'seen', 'quiet', 'paused', 'window')
  local run = server_run(noted[1])
  local seen, until_ms, paused = tonumber(noted[2] or now), tonumber(noted[3] or 0), noted[4] or ''
  local gap = now - seen
  if run ~= noted[1] or gap < 0 or (gap > 100 and gap > gap_max(lengths, deadlines, seen, until_ms > seen)) then
    until_ms = now + longest_lease(meta, lengths)
    if gap < 0 then
      shorten_deadlines(lengths, deadlines, now)
    end
    redis.call('HSET', meta, 'run', run, 'seen', now, 'quiet', until_ms, 'remember', now + (noted[5] or 0) * 1000)
  else
    redis.call('HSET', meta, 'seen', now)
  end
  return until_ms, run, paused
end
