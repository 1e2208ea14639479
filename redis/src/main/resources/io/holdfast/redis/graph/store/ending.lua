-- How values end: what is given up on one segment, and what is erased of it. What ends is written by write_endings.

local function end_whole_segment(work, seg, it)
  local gone, count = {}, seg.there
  if seg.packed then
    for value, at in pairs(seg.at) do
      if seg.packed[at + 1] > 0 then
        gone[#gone + 1] = value
        give_up_children(work, seg.packed[at + 2], it.cause)
        seg.packed[at + 1] = 0
      end
    end
  else
    local edges = redis.call('HGETALL', seg.keys.e)
    for i = 1, #edges, 2 do
      -- Values that ended before gave their children up then.
      if string.find(edges[i + 1], '/', 1, true) and holds_on(seg, tonumber(edges[i])) > 0 then
        give_up_children(work, edges[i + 1], it.cause)
      end
    end
    work.spent = work.spent + #edges / 8
    for value = 2, redis.call('EXISTS', seg.keys.h) == 1 and #seg.counts / 4 - 1 or 0 do
      gone[#gone + 1] = holds_on(seg, value) > 0 and value or nil
    end
  end
  seg.outside, seg.there = 0, 0
  work.unsaved[#work.unsaved + 1] = {seg = seg, gone = gone}
  ended(work, seg.name, '*', count, it.cause)
  work.spent = work.spent + 10 + #gone
end

local MANY = 100 -- characters of a list
-- One hold less on each value of a list. Answers the values that nobody holds now.
local function lower_holds(work, seg, list)
  local dead = {}
  if #list > MANY then read_all_holds(seg) end
  for value in string.gmatch(list, '%d+') do
    value = tonumber(value)
    local left = holds_on(seg, value) - 1
    if left < 0 then
      work.miscounts = (work.miscounts or 0) + 1
    else
      set_holds(seg, value, left)
    end
    if left == 0 then
      dead[#dead + 1] = value
    end
  end
  work.spent = work.spent + #list / 4
  return dead
end

-- Ends values that nobody holds, and those of the same segment that only they held.
local function end_values(work, seg, dead, it, budget)
  local gone = {}
  while dead[1] do
    local own = {}
    local children = children_of(seg, dead)
    for i, value in ipairs(dead) do
      gone[#gone + 1] = value
      if children[i] and children[i] ~= '' then
        give_up_children(work, children[i], it.cause, own)
      end
    end
    local list = table.concat(own, ',')
    dead = {}
    if list ~= '' and work.spent < budget then
      dead = lower_holds(work, seg, list)
    elseif list ~= '' then -- for another call; until then they count as held from outside
      local _, holds = string.gsub(list, '%d+', '')
      give_up(work, seg.name, holds, list, it.cause)
      seg.outside = seg.outside + holds
    end
  end
  seg.there = seg.there - #gone
  work.unsaved[#work.unsaved + 1] = {seg = seg, gone = gone}
  if gone[1] then
    ended(work, seg.name, table.concat(gone, ','), #gone, it.cause)
    work.spent = work.spent + 3 * #gone
  end
end

-- Gives up holds from outside on a segment. All that there are: the whole segment ends. More than there are: frees
-- nothing on such evidence, verify tells the whole story.
local function give_up_on(work, seg, it, budget)
  work.spent = work.spent + 10
  if not seg or seg.outside < it.holds then
    work.miscounts = (work.miscounts or 0) + it.holds
  elseif seg.outside == it.holds then
    end_whole_segment(work, seg, it)
  else
    seg.outside = seg.outside - it.holds
    end_values(work, seg, lower_holds(work, seg, table.concat(it.lists, ',')), it, budget)
  end
end

local function write_endings(work, ids)
  for _, it in ipairs(work.unsaved) do
    forget_content(ids, it.seg, it.gone)
    if it.seg.packed or it.seg.outside > 0 then
      save_segment(it.seg)
    else
      note(it.seg.name)
      redis.call('UNLINK', it.seg.keys.c)
    end
  end
  work.unsaved = {}
end

local function erase_segment(it, segments, small)
  redis.call('HDEL', small, it.name)
  if it.keys then
    redis.call('UNLINK', it.keys.v, it.keys.e, it.keys.c, it.keys.h)
    redis.call('ZREM', segments, it.name)
  end
end

-- Erases values that ended in an earlier call.
local function erase(work, it, segments, small)
  note(it.name)
  local values = table.concat(it.erase, ',')
  local seg = not string.find(values, '*', 1, true) and load_segment(small, it.name, it.keys)
  work.spent = work.spent + 15
  if not seg then
    erase_segment(it, segments, small)
    return
  end
  local gone = {}
  for value in string.gmatch(values, '%d+') do
    gone[#gone + 1] = tonumber(value)
  end
  work.spent = work.spent + #gone
  if seg.there == 0 and seg.outside == 0 then
    erase_segment(it, segments, small)
  elseif seg.packed then
    remove_packed(seg, gone)
  else
    redis.call('HDEL', seg.keys.e, unpack(gone))
    for _, value in ipairs(gone) do
      redis.call('LSET', seg.keys.v, value - 2, '')
    end
  end
end
