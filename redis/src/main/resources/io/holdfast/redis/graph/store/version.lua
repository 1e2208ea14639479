-- A root that moves on to a new version, most of which is the old one: what both hold changes hands, without a count.
local ROUNDS, BUDGET = 8, 400

-- Takes holds that are given up and that are adopted by the same call out of both lists.
local function cancel(name, given, adopt)
  local left = {}
  if adopt then note(name) end
  for value in string.gmatch(table.concat(given, ','), '%d+') do
    if adopt and (adopt[value] or 0) > 0 then
      adopt[value], adopt.holds = adopt[value] - 1, adopt.holds - 1
      given.holds = given.holds - 1
    else
      left[#left + 1] = value
    end
  end
  return table.concat(left, ',')
end

-- Ends the old version as far as its segments are packed; the rest is left to be given up by steps. Nothing is written.
-- adopt: segment -> value -> how many holds more it gets. loaded: packed segments, with the holds that they get; false:
-- it is not packed.
local function end_old_version(work, small, adopt, loaded)
  for _ = 1, ROUNDS do
    local given, again = work.given, false
    work.given = {}
    for name, to in pairs(given) do
      local list = cancel(name, to, adopt[name])
      if to.holds > 0 and loaded[name] == nil then loaded[name] = load_segment(small, name) or false end
      if to.holds > 0 and loaded[name] then
        give_up_on(work, loaded[name], {holds = to.holds, lists = {list}, cause = to.cause}, BUDGET)
        again = true
      elseif to.holds > 0 then
        give_up(work, name, to.holds, list, to.cause)
      end
    end
    if not again then return end
  end
end
