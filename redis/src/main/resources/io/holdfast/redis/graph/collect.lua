-- Frees what scripts leave behind: tables and strings of Lua. Left to itself the server lets them gather until they are as many
-- as all that is in use, then frees them while a script makes new ones: in the middle of a step, for as long as a whole step may
-- take. So a step holds that off, and does a part of it at its end, by as much as it has made itself: then what gathers is always
-- about as much, and the next step finds room that is at hand. (Freed all at once, it goes back to the kernel with some
-- allocators, and must be fetched from there anew.) A slice takes 5 us where it marks, and up to 45 where it frees tables: so it is
-- ended by the clock when half of it is done, and what is left over then is made up for by later steps, which do up to twice as
-- much where more has gathered. (No more than that: what is in use may be other people's scripts, of which there may be many.)
-- The server itself has a part done every fifty scripts: so a step that fails does not hold it off for long.
-- Needs: clock.lua.

local SLICES = 1 / 3   -- for a KiB that was made; a slice looks at 2 KiB or so, and frees what is garbage
local GATHERED = 700   -- KiB, in use and garbage: where there is more, so much more is done, up to twice as much
local SLICE_TAKES = 5  -- microseconds, mostly
local LATE = 1100      -- microseconds after which a call collects no more than half
collectgarbage('stop')
local kib_before = collectgarbage('count')

-- The slices that are due for what was made so far.
local function slices_due()
  local kib = collectgarbage('count')
  return (kib - kib_before) * SLICES * math.min(2, math.max(1, kib / GATHERED))
end

-- To be called last: then the server goes on as it would.
local function collect()
  local due, done = slices_due(), 0
  repeat
    collectgarbage('step', 7) -- which is eight slices
    done = done + 8
  until done >= due or done >= due / 2 and has_clock and elapsed() > LATE
end
