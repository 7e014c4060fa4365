import { readFileSync } from 'node:fs';
import { searchWithin } from '../../runtime/plan/search.ts';
import { leastBytes } from '../../runtime/plan/bound.ts';
import { faults } from '../../runtime/plan/faults.ts';
import { sections } from '../../runtime/plan/sections.ts';
export const load=(f:string)=>readFileSync('/work/shared/data/packing/'+f,'utf8').trim().split(/\r?\n/).slice(1).map(l=>{const [id,a,b,s]=l.split(',');return {name:id!,born:+a!,dies:+b!,bytes:+s!}});
const rules:Record<string,any>={
 ways:{valley:(w:number,l:number,s:number)=>w*1e9+l/1e0/1e3, buffer:(b:number,w:number)=>b*w},
 level:{valley:(w:number,l:number,s:number)=>l*1e3+w, buffer:(b:number,w:number)=>b*w},
 slack:{valley:(w:number,l:number,s:number)=>s*1e3+w, buffer:(b:number,w:number)=>b*w},
 waysS:{valley:(w:number,l:number,s:number)=>w*1e9+s, buffer:(b:number,w:number)=>b*w},
 levelW:{valley:(w:number,l:number,s:number)=>l*1e3+w, buffer:(b:number,w:number)=>w*1e9+b},
 levelB:{valley:(w:number,l:number,s:number)=>l*1e3+w, buffer:(b:number,w:number)=>b*1e4+w},
 waysW:{valley:(w:number,l:number,s:number)=>w*1e9+l, buffer:(b:number,w:number)=>w*1e9+b},
 waysB:{valley:(w:number,l:number,s:number)=>w*1e9+l, buffer:(b:number,w:number)=>b*1e4+w},
};
const names=process.argv[2]?.split(',')??Object.keys(rules);
const limit=+(process.argv[3]??3000); const cap=+(process.argv[4]??1048576);
for(const k of (process.argv[5]??'ABCDEFGHIJK')){ const b=load(k+'.1048576.csv'); let line=k+' n='+b.length+' m='+sections(b).count+' ';
 for(const r of names){ const t=cpu(); const s=searchWithin(b,cap,rules[r]); let o='unknown'; let nodes=0; while(o==='unknown'&&cpu()-t<limit){o=s.advance(500);nodes+=500}
  line+=` ${r}:${o==='found'?'OK':o==='unknown'?'--':o} ${(cpu()-t).toFixed(0)}ms/${(nodes/1000).toFixed(0)}k`; if(o==='found'&&faults(b,s.offsets(),cap).length) line+=' FAULTY '+JSON.stringify(faults(b,s.offsets(),cap)[0]); }
 console.log(line);
}
function cpu(){const u=process.cpuUsage();return (u.user+u.system)/1000}
