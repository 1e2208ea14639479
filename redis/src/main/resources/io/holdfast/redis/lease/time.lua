-- The server's time: milliseconds and microseconds since 1970.
local function clock()
  local t = redis.call('TIME')
  local us = t[1] * 1000000 + t[2]
  return math.floor(us / 1000), us
end
