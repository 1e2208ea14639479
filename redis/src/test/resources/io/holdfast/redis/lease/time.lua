-- The server's time as tests set it, in place of the library's time.lua: microseconds in the key hf-test-clock, with a
-- leading '+' added to the server's own time, without it as it stands. No key, no change.
-- A cluster refuses a key of another slot: there the server's own time counts.
local function clock()
  local t = redis.call('TIME')
  local us = t[1] * 1000000 + t[2]
  local set = redis.pcall('GET', 'hf-test-clock')
  if type(set) == 'string' then
    us = string.sub(set, 1, 1) == '+' and us + string.sub(set, 2) or tonumber(set)
  end
  return math.floor(us / 1000), us
end
