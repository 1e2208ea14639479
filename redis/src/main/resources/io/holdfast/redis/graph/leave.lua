-- Takes values out of their lines (see lines.lua). What is written is decided here, and written by finish in settle.lua.
-- Needs: meta, edges, and what shard.lua, shelves.lua, lines.lua and settle.lua give.

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
