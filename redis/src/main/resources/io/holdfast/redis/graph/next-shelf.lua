-- Where new values belong, if not where some went just now: on the shelf that meta says, until that is full.
-- Needs: meta, values, edges, and what shard.lua and shelves.lua give.

local SHELF_FULL = 15500 -- entries of a hash: with the batches that are under way, mostly below a power of two

local function fill_of(shelf)
  return math.max(redis.call('HLEN', on(values, shelf)), redis.call('HLEN', on(edges, shelf)))
end

-- Answers the shelf as text; empty: the one where this value is.
local function next_shelf(id)
  local shelf = place_of(values, id)
  if shelf == ALL then return '' end
  local current = tonumber(redis.call('HGET', meta, 'shelf') or 0)
  if current == shelf and fill_of(shelf) >= SHELF_FULL then
    local fewest
    for i = 1, 8 do
      local other = (shelf + i) % SHELVES
      local number = fill_of(other)
      if not fewest or number < fewest then current, fewest = other, number end
      if number == 0 then break end
    end
    redis.call('HSET', meta, 'shelf', digits(current))
  end
  return current ~= shelf and digits(current) or ''
end
