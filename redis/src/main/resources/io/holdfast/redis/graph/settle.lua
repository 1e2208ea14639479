-- Gives up holds and frees what nobody holds any longer.
-- Needs: meta, values, counts, edges, doomed, ledger, and what shard.lua, shelves.lua and lines.lua give.
--
-- A unit of budget is an edge that is cut, or about as much work as one: some 2 us of the server's time. What costs
-- more is charged more, so that a step takes no longer in a chain than in a tree.

local freed = 0        -- values freed in this call
local packed = {}      -- their ids, in packed pieces
local gone = {}        -- those of them that have an entry in counts, and children maybe
local gone_edges = {}  -- those that have children
local is_doomed = {}   -- id -> true: dead ids whose entry says so already
local has_died = {}    -- id -> true: those that lost their last hold in this call
local pending = {}     -- large values that must be freed chunk by chunk, for the work list
local cut = 0          -- edges removed
local chunks_gone = 0  -- chunks of large values removed from values
local large_gone = 0   -- large values freed
local ROUND = 5        -- units: the calls that a level of a cascade makes, however few its values
local LONG = 550       -- microseconds: a step that has taken so long ends, whatever its budget
local unwatched = 0    -- units since somebody looked at the clock
local AT_ONCE = 128    -- units: what is done at most between two looks at it
local lines = {}       -- id -> entry in edges, of neighbours in lines, as it is to be; false: none
local moved = {}       -- id -> true: those of them that must be written

-- A cause begins with the letter of its reason.
local reasons = {R = 'RELEASED', L = 'LAPSED', M = 'REPAIRED'}
local function reason(cause)
  return reasons[string.sub(cause, 1, 1)]
end

local function free(ids)
  note(ids)
  delete_all(values, ids)
  freed = freed + #ids
  packed[#packed + 1] = table.concat(ids)
end

-- Frees ids if all of them are on one shelf, where counts has nothing of them: then all are deleted from there. Answers whether
-- they were; if not, some may be. Also what counts has of them on that shelf, and which that is, if it asked.
local function free_at_once(ids, list)
  local n, first = #ids, 1
  local shelf = likely_shelf(ids, 1, n)
  if not shelf then return false end
  local states = redis.call('HMGET', on(counts, shelf), unpack(ids))
  while first <= n and not states[first] do first = first + 1 end
  if first <= n or redis.call('HDEL', on(values, shelf), unpack(ids)) < n then return false, shelf, states end
  note(ids)
  freed = freed + n
  packed[#packed + 1] = list
  return true
end

-- Takes times[id] holds from each id, whose entries in counts are given in the same order. Answers those that nobody holds
-- now; large ones go to pending.
local function count_down(ids, times, entries)
  local zero, zeros, set, n = {}, 0, {}, 0
  for i = 1, #ids do
    local id, count = ids[i], entries[i]
    local held, shape = 1, ''
    if count ~= '1' then held, shape = holds(count) end
    local left = held and held - times[id]
    local state
    if not held and shape == 'b' then
      state = 'd' .. string.match(count, '^b(|%d+,%d+)')
      pending[#pending + 1] = id
    elseif not held or left < 0 or has_died[id] then
      -- More was given up than was held. Free nothing on such evidence; verify tells the whole story.
      redis.call('HINCRBY', meta, 'miscounts', 1)
    elseif left > 0 then
      state = left .. shape
    elseif shape == '' then
      zeros = zeros + 1
      zero[zeros], has_died[id] = id, true
    else
      state = '0' .. shape
      pending[#pending + 1] = id
    end
    if state then
      set[n + 1] = id
      set[n + 2] = state
      n = n + 2
    end
  end
  note(ids)
  if n > 0 then set_all(counts, set) end
  return zero
end

-- Takes a hold from each id of a packed list, as often as it is in it. What has no entry was held once and has no
-- children: it is freed, the common case, and cheap, unless nothing may be freed now. Answers the others that nobody
-- holds now.
local function release(list)
  if list == '' then return {} end
  local ids = ids_of(list)
  local none = (marked or quiet()) and '1' -- what no entry says
  local done, shelf, states = false, nil, nil
  if not none then done, shelf, states = free_at_once(ids, list) end
  if done then return {} end
  states = get_all(counts, ids, 1, #ids, shelf, states)
  local childless, alone, others, entries, counted, times = {}, 0, {}, {}, 0, {}
  for i = 1, #ids do
    local id, count = ids[i], states[i] or none
    if not count then
      alone = alone + 1
      childless[alone] = id
    elseif times[id] then
      times[id] = times[id] + 1
    else
      counted = counted + 1
      others[counted], entries[counted], times[id] = id, count, 1
    end
  end
  if alone > 0 then free(childless) end
  return count_down(others, times, entries)
end

-- Fetches the neighbours in their lines of values that have these entries, so many of them.
local function fetch_neighbours(entries, number)
  local wanted, n = {}, 0
  for i = 1, number do
    local entry = entries[i]
    if entry and #entry % width ~= 0 then
      local _, before, after = parts_of(entry)
      for _, id in ipairs({before, after}) do
        if id ~= NOBODY and lines[id] == nil then
          n = n + 1
          wanted[n], lines[id] = id, false
        end
      end
    end
  end
  if n == 0 then return end
  for i, entry in ipairs(get_all(edges, wanted)) do lines[wanted[i]] = entry end
end

-- How many children a value has that goes out of its line, and what that takes: those of the one after may be given up as
-- well, and the three are compared.
local function units_to_leave(entry)
  local list, before, after = parts_of(entry)
  local children = #list / width
  return children, children + math.ceil((#(lines[after] or '') + #(lines[before] or '') / 4) / width)
end

-- Takes a value out of its line. The one after it takes over what both hold and the one before does not. Answers what
-- nobody of the line holds any longer, packed. Where the neighbours do not say that they are, nothing is given up on such
-- evidence; verify tells the whole story.
local function leave_line(id, entry)
  local list, before, after = parts_of(entry)
  moved[id] = nil
  local list_before, before_that, after_before = '', NOBODY, id
  if before ~= NOBODY then list_before, before_that, after_before = parts_of(lines[before] or '') end
  local list_after, before_after, after_that = '', id, NOBODY
  if after ~= NOBODY then list_after, before_after, after_that = parts_of(lines[after] or '') end
  if after_before ~= id or before_after ~= id or #entry % width ~= 1 or #entry <= 2 * width then
    redis.call('HINCRBY', meta, 'miscounts', 1)
    return ''
  end
  if before ~= NOBODY then lines[before], moved[before] = line_entry(list_before, before_that, after), true end
  if after ~= NOBODY then lines[after], moved[after] = line_entry(list_after, before, after_that), true end
  if noting then
    if before ~= NOBODY then note({before}) end
    if after ~= NOBODY then note({after}) end
    note(ids_of(list .. list_after))
  end
  local earlier, here, later = tally(list_before), tally(list), tally(list_after)
  local given_up = {}
  for child in pairs(tally(list .. list_after)) do
    local b, v, a = earlier[child] or 0, here[child] or 0, later[child] or 0
    local over = math.max(v - b, 0) + math.max(a - v, 0) - math.max(a - b, 0)
    if over > 0 then given_up[#given_up + 1] = string.rep(child, over) end
  end
  return table.concat(given_up)
end

-- Whether the call has taken long already, asked after so many more units. On a machine that has little time for the server
-- just now a unit is more than it should be. Since Redis 7.2 the server's time stands still while a script runs; Redis 8 and
-- Valkey 8 have the clock of the process instead, and where there is neither, half of the budget bounds a step.
local process_clock = rawget(_G, 'os') and os.clock
local begun = process_clock and process_clock()
local has_clock = process_clock or (redis.REDIS_VERSION_NUM or 0) < 0x070200
local function is_long(units)
  unwatched = unwatched + units
  if unwatched < 64 then return false end
  unwatched = 0
  if process_clock then return (process_clock() - begun) * 1000000 > LONG end
  local time_now = redis.call('TIME')
  return tonumber(time_now[1]) * 1000000 + tonumber(time_now[2]) - micros > LONG
end

-- Frees dead ids, the last ones first, and what only they held: a generation of children before what is left of their
-- parents'. What a step leaves over must be written down and looked up again, so no more are taken at once than the budget
-- is likely to last for with all that only they hold, by what was met so far in each generation; and no more than what can
-- be done between two looks at the clock. Answers the ids left over, where in them the generations begin, and the units
-- spent: within the budget, but for a first value that alone is over it; all of it, if the time is up.
local function cascade(dead, budget)
  local begins, spent, taken, full = {1}, 0, 0, false
  local took, died = {}, {} -- by generation: values, and children of theirs that nobody held then
  local function likely(generation)
    if not took[generation] then return 36 end
    local each, units = spent / taken, 0
    for g = #took, generation, -1 do units = each + died[g] / took[g] * units end
    return math.min(units, AT_ONCE / 2) -- of larger families two at a time cost less than one
  end
  while #dead > 0 and not full do
    local generation, last = #begins, #dead
    local most = math.max(1, math.min(64, math.floor(math.min(budget - spent, AT_ONCE) / likely(generation))))
    local first = math.max(begins[generation], last - most + 1)
    local round = spent
    local entries = get_all(edges, dead, first, last)
    fetch_neighbours(entries, last - first + 1)
    local given_up, lists, before = {}, 0, taken
    local goners, parents = #gone, #gone_edges
    spent = spent + ROUND
    for i = last, first, -1 do
      local id = dead[i]
      local entry = lines[id] or entries[i - first + 1]
      local in_line = entry and #entry % width ~= 0
      local children = entry and #entry / width or 0
      local units = children
      if in_line then children, units = units_to_leave(entry) end
      full = cut > 0 and spent + units > budget
      if full or taken > before and spent - round + units > AT_ONCE then break end
      dead[i] = nil
      goners = goners + 1
      gone[goners] = id
      taken = taken + 1
      spent = spent + units + 2
      if entry then
        cut = cut + children
        parents, lists = parents + 1, lists + 1
        gone_edges[parents] = id
        given_up[lists] = in_line and leave_line(id, entry) or entry
      end
    end
    local more = release(table.concat(given_up))
    took[generation] = (took[generation] or 0) + taken - before
    died[generation] = (died[generation] or 0) + #more
    if #more > 0 then
      local left = #dead
      begins[generation + 1] = left + 1
      for i = 1, #more do dead[left + i] = more[i] end
    end
    while #begins > 1 and begins[#begins] > #dead do begins[#begins] = nil end
    if is_long(spent - round) then return dead, begins, budget end
    full = full or spent + spent / taken > budget -- what comes next is not likely to fit
  end
  return dead, begins, spent
end

-- One element of the work list: kind (v: values, l: a lease), cause, then packed ids or the lease.
local function hint(kind, cause, payload)
  return kind .. string.char(#cause) .. cause .. payload
end

-- Leaves ids for a later step: their count says doomed, the work list says where they are and why, each generation by
-- itself.
local function doom(ids, begins, cause)
  if #ids == 0 then return end
  local set, n = {}, 0
  for _, id in ipairs(ids) do
    if not is_doomed[id] then
      set[n + 1] = id
      set[n + 2] = '0'
      n = n + 2
    end
  end
  if n > 0 then set_all(counts, set, true) end
  for i, first in ipairs(begins) do
    local last = (begins[i + 1] or #ids + 1) - 1
    if last >= first then redis.call('RPUSH', doomed, hint('v', cause, table.concat(ids, '', first, last))) end
  end
end

-- Writes what was decided; left: ids that are dead and not freed, and where in them generations begin, if they are
-- several. Answers all freed ids, packed.
local function finish(left, cause, by, space, capacity, begins)
  if #gone > 0 then
    delete_all(counts, gone)
    free(gone)
  end
  local set = {}
  for id in pairs(moved) do
    set[#set + 1] = id
    set[#set + 1] = lines[id]
  end
  if #set > 0 then set_all(edges, set) end
  if #gone_edges > 0 then delete_all(edges, gone_edges) end
  if cut > 0 then redis.call('HINCRBY', meta, 'edges', digits(-cut)) end
  if chunks_gone > 0 then redis.call('HINCRBY', meta, 'chunks', digits(-chunks_gone)) end
  if large_gone > 0 then redis.call('HINCRBY', meta, 'large', digits(-large_gone)) end
  note(left)
  note(pending)
  doom(left, begins or {1}, cause)
  if #pending > 0 then redis.call('RPUSH', doomed, hint('v', cause, table.concat(pending))) end
  local all = table.concat(packed)
  if freed > 0 then
    redis.call('XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'VALUE', 's', space,
      'r', reason(cause), 'e', string.sub(cause, 2), 'b', by,
      'p', all, 'w', about[1])
  end
  return all
end
