-- Shelves: values, counts and edges are not one hash each, but one for every shelf: values:0 to values:63. Redis makes the
-- table of a hash anew as it grows and gives it back when it is empty, each at one go, and of a million entries either takes
-- longer than a step may. Small tables also stay at hand of the processor while what was put together is read and freed
-- together. The shelf of a value is a byte of its id, behind the time. All writers put on one shelf until it is full, then on
-- another (next-shelf.lua): so a small graph is on one, and of a large one what was put in a row is not far apart. An id that is
-- made from content does not have that byte: all of those are on one shelf, whose hashes have no number.
-- Needs: width.

local SHELVES = 64
local SHELF_AT = width == 16 and 7 or 100 -- where there is no byte in any field: then it is nil
local ALL = '' -- the one shelf of ids that are made from content
local byte = string.byte
local shelf_keys = {}

-- The key of the hash that a part has for a shelf; nil: the one for all.
local function on(part, shelf)
  local keys = shelf_keys[part]
  if not keys then
    keys = {[ALL] = part}
    shelf_keys[part] = keys
  end
  local key = keys[shelf or ALL]
  if not key then
    key = part .. string.format(':%d', shelf)
    keys[shelf] = key
  end
  return key
end

-- The key of the hash that has a field of a part: an id, or a chunk.
local function key_of(part, field)
  return on(part, byte(field, SHELF_AT))
end

-- From now on the hash that has a field of a part has another key.
local function call_it(part, field, key)
  local shelf = byte(field, SHELF_AT)
  on(part, shelf)
  shelf_keys[part][shelf or ALL] = key
end

-- All keys of a part, whether they are there or not.
local function keys_of(part)
  if width ~= 16 then return {part} end
  local keys = {}
  for shelf = 0, SHELVES - 1 do keys[shelf + 1] = on(part, shelf) end
  return keys
end

-- Whether ids are on one shelf takes longer to find out than most things that are done with them. So it is guessed from the first
-- and the last: what is on another shelf is not there where the others are, and only where something was not there every id
-- is asked.
local function likely_shelf(ids, first, last)
  local shelf = byte(ids[first], SHELF_AT) or ALL
  return shelf == (byte(ids[last], SHELF_AT) or ALL) and shelf or nil
end

local function are_on(shelf, ids, first, last)
  if shelf == ALL then return true end
  for i = first, last do
    if byte(ids[i], SHELF_AT) ~= shelf then return false end
  end
  return true
end

-- The ids from first to last by shelf, and where each stood.
local function by_shelf(ids, first, last)
  local shelves, places = {}, {}
  for i = first, last do
    local shelf = byte(ids[i], SHELF_AT)
    local some, there = shelves[shelf], places[shelf]
    if not some then
      some, there = {}, {}
      shelves[shelf], places[shelf] = some, there
    end
    local n = #some + 1
    some[n], there[n] = ids[i], i
  end
  return shelves, places
end

local function are_all_there(entries, n)
  for i = 1, n do
    if not entries[i] then return false end
  end
  return true
end

-- HMGET of the ids from first to last, or of all, whatever their shelves; guessed, entries: what a shelf has of them, if
-- that is known.
local function get_all(part, ids, first, last, guessed, entries)
  first, last = first or 1, last or #ids
  local shelf = guessed or likely_shelf(ids, first, last)
  if shelf then
    entries = entries or redis.call('HMGET', on(part, shelf), unpack(ids, first, last))
    if are_all_there(entries, last - first + 1) or are_on(shelf, ids, first, last) then return entries end
  end
  local all = {}
  local shelves, places = by_shelf(ids, first, last)
  for number, some in pairs(shelves) do
    local there = places[number]
    for i, entry in ipairs(redis.call('HMGET', on(part, number), unpack(some))) do all[there[i] - first + 1] = entry end
  end
  return all
end

-- HDEL of all ids.
local function delete_all(part, ids)
  local shelf = likely_shelf(ids, 1, #ids)
  if shelf and (redis.call('HDEL', on(part, shelf), unpack(ids)) == #ids or are_on(shelf, ids, 1, #ids)) then return end
  for number, some in pairs((by_shelf(ids, 1, #ids))) do redis.call('HDEL', on(part, number), unpack(some)) end
end

-- HSET of id, entry, id, entry …; widened: and sees to it that no hash stays a list (widen); shelf: where all of them are, if
-- that is known.
local function set_all(part, entries, widened, shelf)
  local n, at = #entries, 3
  if shelf or width ~= 16 then
    at = n + 1
  else
    shelf = byte(entries[1], SHELF_AT)
    while at < n and byte(entries[at], SHELF_AT) == shelf do at = at + 2 end
  end
  if at > n then
    redis.call('HSET', on(part, shelf), unpack(entries))
    if widened then widen(on(part, shelf)) end
    return
  end
  local shelves = {}
  for i = 1, n, 2 do
    local number = byte(entries[i], SHELF_AT)
    local some = shelves[number]
    if not some then
      some = {}
      shelves[number] = some
    end
    local m = #some
    some[m + 1], some[m + 2] = entries[i], entries[i + 1]
  end
  for number, some in pairs(shelves) do
    redis.call('HSET', on(part, number), unpack(some))
    if widened then widen(on(part, number)) end
  end
end
