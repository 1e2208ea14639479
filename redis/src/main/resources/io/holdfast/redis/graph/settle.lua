-- Gives up holds and frees what nobody holds any longer.
-- Needs: meta, values, counts, edges, doomed, ledger, and what shard.lua, shelves.lua and lines.lua give.

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
local lines = {}       -- id -> entry in edges, of neighbours in lines, as it is to be; false: none
local moved = {}       -- id -> true: those of them that must be written

-- A cause begins with the letter of its reason.
local reasons = {R = 'RELEASED', L = 'LAPSED', M = 'REPAIRED'}
local function reason(cause)
  return reasons[string.sub(cause, 1, 1)]
end

-- What table.concat answers, for pieces that are long. That one makes a string of what it has whenever its buffer is full, 1 KiB
-- in some servers, and every string costs time by its length; an expression makes one string of all its parts.
local function join(pieces)
  while #pieces > 1 do
    local longer = {}
    for i = 1, #pieces, 8 do
      local a, b, c, d, e, f, g, h = unpack(pieces, i, i + 7)
      longer[#longer + 1] = a .. (b or '') .. (c or '') .. (d or '') .. (e or '') .. (f or '') .. (g or '') .. (h or '')
    end
    pieces = longer
  end
  return pieces[1] or ''
end

local function free(ids)
  note(ids)
  delete_all(values, ids)
  freed = freed + #ids
  packed[#packed + 1] = table.concat(ids)
end

-- Frees ids if counts would have all of them at one place, and has nothing of them there: then all are deleted. Answers whether
-- they were; if not, some may be. Also that place, and what counts has of them there, if it asked. Of leaves it mostly has nothing
-- at all. What is at another place may have values on the same shelf: so every id is asked before any goes.
local function free_at_once(ids, list)
  local n = #ids
  local place, states = likely_place(counts, ids, 1, n), nil
  if not place then return false end
  if redis.call('HLEN', on(counts, place)) > 0 then
    states = redis.call('HMGET', on(counts, place), unpack(ids))
    for i = 1, n do
      if states[i] then return false, place, states end
    end
  end
  if not are_at(counts, place, ids, 1, n) then return false end
  if redis.call('HDEL', values_on(place), unpack(ids)) < n then return false, place, states end
  note(ids)
  freed = freed + n
  packed[#packed + 1] = list
  return true
end

-- Takes times[id] holds from each id, whose entries in counts are given in the same order. Answers those that nobody holds
-- now; large ones go to pending. A leaf that is held once again needs its entry no longer.
local function count_down(ids, times, entries)
  local zero, zeros, set, n, plain = {}, 0, {}, 0, {}
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
    elseif left == 1 and shape == '' and is_leaf(id) then
      plain[#plain + 1] = id
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
  if #plain > 0 then delete_all(counts, plain) end
  return zero
end

-- Whether each id was held once by what counts has of it, is there once, and did not die before in this call: then all of them
-- died now.
local function die_together(ids, states)
  for i = 1, #ids do
    local id = ids[i]
    if states[i] ~= '1' or has_died[id] then
      for earlier = 1, i - 1 do has_died[ids[earlier]] = nil end
      return false
    end
    has_died[id] = true
  end
  note(ids)
  return true
end

-- Takes a hold from each id of a packed list, as often as it is in it. What has no entry was held once and has no
-- children: it is freed, the common case, and cheap, unless nothing may be freed now. Answers the others that nobody
-- holds now.
local function release(list)
  if list == '' then return {} end
  local ids = ids_of(list)
  local none = (marked or quiet()) and '1' -- what no entry says
  local done, place, states = false, nil, nil
  if not none then done, place, states = free_at_once(ids, list) end
  if done then return {} end
  states = get_all(counts, ids, 1, #ids, place, states)
  if die_together(ids, states) then return ids end
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

-- One element of the work list: kind (v: values, l: a lease), cause, then packed ids or the lease.
local function hint(kind, cause, payload)
  return kind .. string.char(#cause) .. cause .. payload
end

-- Leaves ids for a later step: their count says doomed, the work list says where they are and why, each generation by
-- itself.
local function doom(ids, begins, cause)
  if #ids == 0 then return end
  local set, n = {}, 0
  for i = 1, #ids do
    local id = ids[i]
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
-- several. Answers all freed ids, in packed pieces: of long ones to make one string takes time by its length.
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
  if freed > 0 then
    local record = {'XADD', ledger, 'MAXLEN', '~', capacity, '*', 'k', 'VALUE', 's', space,
      'r', reason(cause), 'e', string.sub(cause, 2), 'b', by, 'w', about[1]}
    local n = #record
    for i = 1, #packed do
      record[n + 1], record[n + 2] = 'p', packed[i]
      n = n + 2
    end
    redis.call(unpack(record))
  end
  return packed
end
