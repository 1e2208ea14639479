-- A segment: what one call put, up to 256 values, numbered from 2. No other file reads or writes its holds.
--
-- An id is SEGMENT.VALUE. SEGMENT is 16 digits in order of time, made by the client and never used again. Children are
-- older than their parents, so a segment has usually lost all holds that it will lose when its turn comes, and goes at
-- once. It is stored whole, or packed if so few values are left that their keys would cost more than they.
--   whole   v:SEGMENT  list    kind and bytes of value 2, 3 …; '' is erased
--           e:SEGMENT  hash    value -> its children, of those that have some
--           c:SEGMENT  string  32-bit numbers: 0 holds from outside the segment, 1 values that have not ended, then of
--                              each value how many hold it; 0: it has ended
--           h:SEGMENT  string  content ids (content.lua)                          segments  sorted set  whole segments
--   packed  small      hash    SEGMENT -> msgpack: holds from outside, then of each value VALUE, holds, children, kind
--                              and bytes, content id
-- Children are runs with a space between: `12,13` are of the same segment, `SEGMENT/2/7,9` two of another.
--
-- A value ends in two calls: the first sets its holds to 0 and gives its children up, from then on nobody can hold it;
-- a later one erases it. In between a torn log can bring it back, so nothing of it may be missing.
local FIELDS = 5 -- of a packed value
local function name_of(key)
  return string.sub(key, -16)
end

local function packed_segment(small, name, packed)
  local seg = {name = name, small = small, packed = cmsgpack.unpack(packed), at = {}, there = 0}
  seg.outside = seg.packed[1]
  for at = 2, #seg.packed, FIELDS do
    seg.at[seg.packed[at]] = at
    seg.there = seg.there + (seg.packed[at + 1] > 0 and 1 or 0)
  end
  return seg
end

-- Answers a segment, or nil if all of it has ended. keys: its v, e, c and h, if the call declares them.
local function load_segment(small, name, keys)
  local counts = keys and redis.call('GET', keys.c)
  if counts then
    local outside, there = struct.unpack('>II', counts)
    return {name = name, keys = keys, counts = counts, outside = outside, there = there, changed = {}}
  end
  local packed = redis.call('HGET', small, name)
  return packed and packed_segment(small, name, packed) or nil
end

-- Where many values will be looked at: all counts in one table.
local function read_all_holds(seg)
  if seg.counts and not seg.all then
    seg.format = '>' .. string.rep('I', #seg.counts / 4)
    seg.all = {struct.unpack(seg.format, seg.counts)}
    seg.all[#seg.all] = nil -- where the reading ended
    for value, holds in pairs(seg.changed) do seg.all[value + 1] = holds end
  end
end

local function holds_on(seg, value)
  if seg.all then return seg.all[value + 1] or 0 end
  if seg.packed then return seg.at[value] and seg.packed[seg.at[value] + 1] or 0 end
  local changed = seg.changed[value]
  if changed then return changed end
  local at = 4 * value + 1
  return at < #seg.counts and struct.unpack('>I', seg.counts, at) or 0
end

local function set_holds(seg, value, holds)
  if seg.packed then
    seg.packed[seg.at[value] + 1] = holds
  elseif seg.all then
    seg.all[value + 1] = holds
  else
    seg.changed[value] = holds
  end
end

-- Writes what was changed.
local function save_segment(seg)
  note(seg.name)
  if seg.packed then
    seg.packed[1] = seg.outside
    redis.call('HSET', seg.small, seg.name, cmsgpack.pack(seg.packed))
    return
  elseif seg.all then
    seg.all[1], seg.all[2] = seg.outside, seg.there
    redis.call('SET', seg.keys.c, struct.pack(seg.format, unpack(seg.all)))
    return
  end
  local change = {'BITFIELD', seg.keys.c, 'SET', 'u32', '#0', seg.outside, 'SET', 'u32', '#1', seg.there}
  local n = #change
  for value, holds in pairs(seg.changed) do
    change[n + 1], change[n + 2], change[n + 3], change[n + 4] = 'SET', 'u32', '#' .. value, holds
    n = n + 4
  end
  redis.call(unpack(change))
end

-- One more hold from outside on each value of a list: `2,5,5`. Answers the values that have ended; then nothing may be
-- saved.
local function raise_holds(seg, list)
  local missing = {}
  for value in string.gmatch(list, '%d+') do
    value = tonumber(value)
    local holds = seg and holds_on(seg, value) or 0
    if holds == 0 then
      missing[#missing + 1] = value
    else
      set_holds(seg, value, holds + 1)
      seg.outside = seg.outside + 1
    end
  end
  return missing
end

-- The children of values, in order; false or '' where there are none.
local function children_of(seg, values)
  if not seg.packed then return redis.call('HMGET', seg.keys.e, unpack(values)) end
  local children = {}
  for i, value in ipairs(values) do
    children[i] = seg.packed[seg.at[value] + 2]
  end
  return children
end

-- Takes values out of a packed segment.
local function remove_packed(seg, values)
  local gone, left = {}, {seg.outside}
  for _, value in ipairs(values) do
    gone[value] = true
  end
  for at = 2, #seg.packed, FIELDS do
    if not gone[seg.packed[at]] then
      for i = at, at + FIELDS - 1 do
        left[#left + 1] = seg.packed[i]
      end
    end
  end
  seg.packed = left
  save_segment(seg)
end
