-- Shelves: values, counts and edges are not one hash each, but one for every shelf: values:0 to values:63. Redis makes the
-- table of a hash anew as it grows and gives it back when it is empty, each at one go, and of a million entries either takes
-- longer than a step may. Small tables also stay at hand of the processor while what was put together is read and freed
-- together. The shelf of a value is a byte of its id, behind the time. All writers put on one shelf until it is full, then on
-- another (next-shelf.lua): so a small graph is on one, and of a large one what was put in a row is not far apart. An id that is
-- made from content does not have that byte: all of those are on one shelf, whose hashes have no number.
--
-- Most values are leaves: small, without children, held once, with no entry in counts. In their ids LEAF is added to the shelf,
-- and those of them that do have an entry have it in a hash of their own, counts:64 to counts:127. Where that is not there, every
-- leaf of the shelf is held once, and whoever gives up such holds needs to ask for none of them.
-- Needs: width, values, counts.

local SHELVES = 64
local LEAF = 64
local SHELF_AT = width == 16 and 7 or 100 -- where there is no byte in any field: then it is nil
local ALL = '' -- the one shelf of ids that are made from content
local byte = string.byte
local shelf_keys = {}

-- By what the byte of an id must be divided, so that the rest says where a part has it.
local function places_in(part)
  return part == counts and SHELVES + LEAF or SHELVES
end

-- Where a part has a field: an id, or a chunk.
local function place_of(part, field)
  local at = byte(field, SHELF_AT)
  return at and at % places_in(part) or ALL
end

local function is_leaf(id)
  return (byte(id, SHELF_AT) or 0) >= LEAF
end

-- The key of the hash that a part has at a place.
local function on(part, place)
  local keys = shelf_keys[part]
  if not keys then
    keys = {[ALL] = part}
    shelf_keys[part] = keys
  end
  local key = keys[place]
  if not key then
    key = part .. string.format(':%d', place)
    keys[place] = key
  end
  return key
end

-- The key of the hash that has a field of a part: an id, or a chunk.
local function key_of(part, field)
  return on(part, place_of(part, field))
end

-- The key of the hash that has the values of ids which counts has at a place.
local function values_on(place)
  return on(values, place == ALL and ALL or place % SHELVES)
end

-- From now on the hash that has a field of a part has another key.
local function call_it(part, field, key)
  local place = place_of(part, field)
  on(part, place)
  shelf_keys[part][place] = key
end

-- All keys of a part, whether they are there or not.
local function keys_of(part)
  if width ~= 16 then return {part} end
  local keys = {}
  for place = 0, places_in(part) - 1 do keys[place + 1] = on(part, place) end
  return keys
end

-- Whether a part has ids at one place takes longer to find out than most things that are done with them. So it is guessed from
-- the first, the last and the one in the middle: what is at another place is not there where the others are, and only where
-- something was not there every id is asked.
local function likely_place(part, ids, first, last)
  local place = place_of(part, ids[last])
  if place ~= place_of(part, ids[first]) or place ~= place_of(part, ids[math.floor((first + last) / 2)]) then return nil end
  return place
end

-- Whether a part has all these ids at one place.
local function are_at(part, place, ids, first, last)
  if place == ALL then return true end
  local places = places_in(part)
  for i = first, last do
    local at = byte(ids[i], SHELF_AT)
    if at ~= place and at % places ~= place then return false end
  end
  return true
end

-- The ids from first to last by the place where a part has them, and the number of each.
local function by_place(part, ids, first, last)
  local groups, numbers = {}, {}
  local places = places_in(part)
  for i = first, last do
    local place = byte(ids[i], SHELF_AT) % places
    local some, their = groups[place], numbers[place]
    if not some then
      some, their = {}, {}
      groups[place], numbers[place] = some, their
    end
    local n = #some + 1
    some[n], their[n] = ids[i], i
  end
  return groups, numbers
end

local function are_all_there(entries, n)
  for i = 1, n do
    if not entries[i] then return false end
  end
  return true
end

-- HMGET of the ids from first to last, or of all, wherever they are; guessed, entries: what a place has of them, if that is
-- known. Answers also the place, if it is one.
local function get_all(part, ids, first, last, guessed, entries)
  first, last = first or 1, last or #ids
  local place = guessed or likely_place(part, ids, first, last)
  if place then
    entries = entries or redis.call('HMGET', on(part, place), unpack(ids, first, last))
    if are_all_there(entries, last - first + 1) or are_at(part, place, ids, first, last) then return entries, place end
  end
  local all = {}
  local groups, numbers = by_place(part, ids, first, last)
  for at, some in pairs(groups) do
    local their = numbers[at]
    for i, entry in ipairs(redis.call('HMGET', on(part, at), unpack(some))) do all[their[i] - first + 1] = entry end
  end
  return all
end

-- The last of those in a list that a part has at one place with the one at first, and that place; stride: 2, if each id has
-- something behind it.
local function end_of_run(part, list, first, stride)
  local n, places = #list, places_in(part)
  local place, next_id = byte(list[first], SHELF_AT) % places, first + stride
  while next_id <= n and byte(list[next_id], SHELF_AT) % places == place do next_id = next_id + stride end
  return next_id - 1, place
end

-- What get_all answers, of ids in order of their shelves.
local function get_sorted(part, ids)
  local all, first = {}, 1
  while first <= #ids do
    local last, place = end_of_run(part, ids, first, 1)
    for i, entry in ipairs(redis.call('HMGET', on(part, place), unpack(ids, first, last))) do all[first + i - 1] = entry end
    first = last + 1
  end
  return all
end

-- What set_all does, of ids in order of their shelves.
local function set_sorted(part, entries)
  local first = 1
  while first <= #entries do
    local last, place = end_of_run(part, entries, first, 2)
    redis.call('HSET', on(part, place), unpack(entries, first, last))
    first = last + 1
  end
end

-- HDEL of all ids.
local function delete_all(part, ids)
  local place = likely_place(part, ids, 1, #ids)
  if place and (redis.call('HDEL', on(part, place), unpack(ids)) == #ids or are_at(part, place, ids, 1, #ids)) then return end
  for at, some in pairs((by_place(part, ids, 1, #ids))) do redis.call('HDEL', on(part, at), unpack(some)) end
end

-- HSET of id, entry, id, entry …; widened: and sees to it that no hash stays a list (widen); place: where all of them are, if
-- that is known.
local function set_all(part, entries, widened, place)
  local n, next_id, places = #entries, 3, places_in(part)
  if place or width ~= 16 then
    next_id = n + 1
    place = place or ALL
  else
    place = place_of(part, entries[1])
    while next_id < n and byte(entries[next_id], SHELF_AT) % places == place do next_id = next_id + 2 end
  end
  if next_id > n then
    redis.call('HSET', on(part, place), unpack(entries))
    if widened then widen(on(part, place)) end
    return
  end
  local groups = {}
  for i = 1, n, 2 do
    local at = byte(entries[i], SHELF_AT) % places
    local some = groups[at]
    if not some then
      some = {}
      groups[at] = some
    end
    local m = #some
    some[m + 1], some[m + 2] = entries[i], entries[i + 1]
  end
  for at, some in pairs(groups) do
    redis.call('HSET', on(part, at), unpack(some))
    if widened then widen(on(part, at)) end
  end
end
