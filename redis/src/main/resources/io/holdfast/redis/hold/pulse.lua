-- Whether deadlines may be believed: until when they may not ("quiet"), and the server's run id.
-- A store that was replaced (another run id), that nobody reached for half a lease (it stalled, or everybody else did)
-- or whose clock jumped proves nothing about a holder that seems late: everybody gets one full lease to come back.
local function pulse(meta, now)
  local m = redis.call('HMGET', meta, 'run', 'seen', 'quiet', 'longest')
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local longest = tonumber(m[4]) or 0
  local quiet = tonumber(m[3]) or 0
  local gap = now - (tonumber(m[2]) or 0)
  if m[1] ~= run or gap > longest / 2 or gap < 0 then
    quiet = now + longest
  end
  redis.call('HSET', meta, 'run', run, 'seen', now, 'quiet', quiet)
  return quiet, run
end
