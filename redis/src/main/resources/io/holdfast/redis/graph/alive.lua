-- Whether values are alive.
-- Needs: values, counts, and what shard.lua and shelves.lua give.

-- Asks for ids without an entry in counts: such a value is held once, if it is in values. They are small
-- (GraphWriter.SMALL_BYTES), so that fetching them is cheaper than a call for each. Answers the first that is not there;
-- place: where counts would have all of them, if that is one.
local function first_absent(ids, place)
  for i, bytes in ipairs(place and redis.call('HMGET', values_on(place), unpack(ids)) or get_all(values, ids)) do
    if not bytes then return ids[i] end
  end
end

-- More holds on each id: as many as more says for the first ones, one for the others. Answers what to write to counts,
-- as pairs; where an id is not alive: nil, the letter of its state, the id. Most ids get one more and have few, so a
-- state is read and raised once for all that are in it. Answers also the place where counts has all of them, if that is one.
local function raise(ids, more)
  local states, place = get_all(counts, ids)
  local set, plain, raised = {}, {}, {}
  local several, at = #more, 1
  for i = 1, #ids do
    local id, state = ids[i], states[i]
    local next_state = i > several and raised[state]
    if not next_state then
      local n, shape = 1, ''
      if state then
        n, shape = holds(state)
        if not n or n == 0 then return nil, shape, id end
      end
      next_state = digits(n + (more[i] or 1)) .. shape
      if i > several then raised[state] = next_state end
    end
    if not state then plain[#plain + 1] = id end
    set[at] = id
    set[at + 1] = next_state
    at = at + 2
  end
  local absent = #plain > 0 and first_absent(plain, place)
  if absent then return nil, '', absent end
  return set, place
end

-- For each id the number of its holds and its shape, or nil and the letter of its state, as holds has them; nil and nil
-- where there is no such value. A value without an entry in counts is held once, if it is in values; such values are
-- small (GraphWriter.SMALL_BYTES), so that fetching them is cheaper than a call for each. Answers also which have none.
local function look_up(ids)
  local numbers, shapes, uncounted = {}, {}, {}
  local missing, places, n = {}, {}, 0
  for i, count in ipairs(get_all(counts, ids)) do
    if count then
      numbers[i], shapes[i] = holds(count)
    else
      n = n + 1
      missing[n] = ids[i]
      places[n] = i
      uncounted[i] = true
    end
  end
  if n > 0 then
    for i, bytes in ipairs(get_all(values, missing)) do
      if bytes then numbers[places[i]], shapes[places[i]] = 1, '' end
    end
  end
  return numbers, shapes, uncounted
end
