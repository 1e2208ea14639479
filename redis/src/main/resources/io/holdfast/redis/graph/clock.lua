-- How long a call has taken. Since Redis 7.2 the server's time stands still while a script runs; Redis 8 and Valkey 8 have the
-- clock of the process instead, and in between there is none.

local process_clock = rawget(_G, 'os') and os.clock
local has_clock = process_clock or (redis.REDIS_VERSION_NUM or 0) < 0x070200
local function clock()
  if process_clock then return process_clock() * 1000000 end
  local time_now = redis.call('TIME')
  return tonumber(time_now[1]) * 1000000 + tonumber(time_now[2])
end
local begun = clock()

-- The microseconds since the call began, if there is a clock.
local function elapsed()
  return clock() - begun
end
