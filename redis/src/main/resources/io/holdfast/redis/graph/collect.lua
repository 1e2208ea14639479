#!lua flags=no-writes,allow-oom
-- Has the server free what scripts left behind: tables and strings of Lua. Left to itself it lets them gather until they are
-- as many as all that is in use, then frees them while a script makes new ones: in the middle of a step, for as long as a whole
-- step may take. So steps hold it off, and between two of them it is called for, bounded in time. (The server itself has a
-- part done every fifty scripts: so a step that fails does not hold it off for long.)
-- KEYS  meta
-- ARGV  micros
-- REPLY script-kib done
--@include clock.lua

local SLICES = 4   -- between two looks at the clock: some 15 us each
local MOST = 32    -- where there is no clock

local micros, slices = tonumber(ARGV[1]), 0
local is_done, is_long
repeat
  is_done = collectgarbage('step', SLICES - 1)
  slices = slices + SLICES
  if has_clock then is_long = elapsed() > micros else is_long = slices >= MOST end
until is_done or is_long
return {math.ceil(collectgarbage('count')), is_done and 1 or 0}
