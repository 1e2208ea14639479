-- Frees what scripts leave behind: tables and strings of Lua. Left to itself the server lets them gather until they are as many
-- as all that is in use, then frees them while a script makes new ones: in the middle of a step, for as long as a whole step may
-- take. So a step holds that off, and does a part of it at its end, by as much as it has made itself: then what gathers is always
-- about as much, and the next step finds room that is at hand. (Freed all at once, it goes back to the kernel with some
-- allocators, and must be fetched from there anew.) The server itself has a part done every fifty scripts: so a step that fails
-- does not hold it off for long.

local SLICES = 1 / 3   -- for a KiB that was made; a slice looks at 2 KiB or so, and frees what is garbage
local SLICE_TAKES = 5  -- microseconds, about
collectgarbage('stop')
local kib_before = collectgarbage('count')

-- The slices that are due for what was made so far.
local function slices_due()
  return (collectgarbage('count') - kib_before) * SLICES
end

-- To be called last: then the server goes on as it would.
local function collect()
  collectgarbage('step', slices_due())
end
