-- Frees what nobody holds any longer and all that only it held, generation after generation, as far as the call's budget and
-- its time allow.
-- Needs: what settle.lua needs and gives, leave.lua, clock.lua and collect.lua.
--
-- A unit of budget is an edge that is cut, or about as much work as one: some 2 us of the server's time. What costs
-- more is charged more, so that a step takes no longer in a chain than in a tree. On a machine that is slow just now a unit
-- takes longer than it should: so the clock says what units take here, and the step ends when there is no time for more.

local ROUND = 5      -- units: the calls that a level of a cascade makes, however few its values
local LONG = 900     -- microseconds that a step may take, whatever its budget
local ENDING = 2     -- units: what it takes to delete an entry of counts and its value, or one of edges, at the end of the step
local AT_ONCE = 128  -- units: what is done at most between two looks at the clock
local budget = 0     -- units that this call may spend
local spent = 0      -- units that it has spent
local HEAVY = 5461   -- bytes that take a unit to give back: 256 KiB take as long as to cut 48 edges
local heavy = 0      -- units: what it takes to give back the bytes of values that go at the end of the step
local waiting = 0    -- dead ids that are not done yet: a unit each to write them down, if the call ends now
local ready, before_ready -- when it first asked for room, in microseconds since it began, and units spent until then
local looked = 0     -- units spent when it last looked at the clock
local timely = has_clock and LONG / 2 or math.huge -- units that there is time for, as it seemed then; before, as is likely

-- How many children a value has that goes out of its line, and what that takes: those of the one after may be given up as
-- well, and the three are compared.
local function units_to_leave(entry)
  local list, before, after = parts_of(entry)
  local children = #list / width
  return children, children + math.ceil((#(lines[after] or '') + #(lines[before] or '') / 4) / width)
end

-- The microseconds that the call has taken, and will take to collect what it left behind so far.
local function taken_time()
  return elapsed() + slices_due() * SLICE_TAKES
end

-- What the call may still spend: of its budget, and of its time by what its units took so far. What is to be written at its
-- end takes time as well.
local function room()
  if has_clock and not ready then
    ready, before_ready, looked = taken_time(), spent, spent
  elseif has_clock and spent >= looked + (timely - spent > 256 and 128 or 64) then -- the end is far: half as often
    looked = spent
    local passed = taken_time()
    local rate = (spent - before_ready) / math.max(passed - ready, 1)
    timely = spent + (LONG - passed) * rate - (#gone + #gone_edges) * ENDING
  end
  return math.min(budget, timely) - spent - waiting - heavy
end

-- How many units it takes to give back the bytes of a value. What is asked of one holds for those that are taken with it, and for
-- parents of the same generation: they are mostly alike, and to ask each of them takes as long as to free it.
local function weight_of(id)
  return math.floor(redis.call('HSTRLEN', key_of(values, id), id) / HEAVY)
end

-- Frees dead ids, the last ones first, and what only they held: a generation of children before what is left of their
-- parents'. What a step leaves over must be written down and looked up again, so no more are taken at once than there is
-- likely to be room for with all that only they hold, by what was met so far in each generation; and no more than what can
-- be done between two looks at the clock. Answers the ids left over, and where in them the generations begin.
local function cascade(dead)
  local begins, before, taken, full = {1}, spent, 0, false
  local took, died = {}, {} -- by generation: values, and children of theirs that nobody held then
  local weights = {}        -- by generation: of parents
  local function likely(generation)
    if not took[generation] then return 36 end
    local each, units = (spent - before) / taken, 0
    for g = #took, generation, -1 do units = each + died[g] / took[g] * units end
    return math.min(units, AT_ONCE / 2) -- of larger families two at a time cost less than one
  end
  waiting = #dead
  local left = room()
  while #dead > 0 and not full do
    local generation, last = #begins, #dead
    local most = math.max(1, math.min(64, math.floor(math.min(left, AT_ONCE) / likely(generation))))
    local first = math.max(begins[generation], last - most + 1)
    local entries = get_all(edges, dead, first, last)
    fetch_neighbours(entries, last - first + 1)
    local given_up, lists, taken_before = {}, 0, taken
    local goners, parents = #gone, #gone_edges
    local round = ROUND
    local is_parent = entries[last - first + 1]
    local weight = is_parent and weights[generation] or weight_of(dead[last])
    if is_parent then weights[generation] = weight end
    for i = last, first, -1 do
      local id = dead[i]
      local entry = lines[id] or entries[i - first + 1]
      local in_line = entry and #entry % width ~= 0
      local children = entry and #entry / width or 0
      local units = children
      if in_line then children, units = units_to_leave(entry) end
      full = goners > 0 and round + units + weight > left
      if full or taken > taken_before and round + units > AT_ONCE then break end
      left = left - weight
      heavy = heavy + weight
      dead[i] = nil
      goners = goners + 1
      gone[goners] = id
      taken = taken + 1
      round = round + units + 2
      if entry then
        cut = cut + children
        parents, lists = parents + 1, lists + 1
        gone_edges[parents] = id
        given_up[lists] = in_line and leave_line(id, entry) or entry
      end
    end
    spent = spent + round
    local more = release(join(given_up))
    took[generation] = (took[generation] or 0) + taken - taken_before
    died[generation] = (died[generation] or 0) + #more
    if #more > 0 then
      local rest = #dead
      begins[generation + 1] = rest + 1
      for i = 1, #more do dead[rest + i] = more[i] end
    end
    while #begins > 1 and begins[#begins] > #dead do begins[#begins] = nil end
    waiting = #dead
    left = room()
    full = full or (spent - before) / taken > left -- what comes next is not likely to fit
  end
  return dead, begins
end
