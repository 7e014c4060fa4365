import { readFileSync } from 'node:fs';
export const load=(f:string)=>readFileSync('/work/shared/data/packing/'+f,'utf8').trim().split(/\r?\n/).slice(1).map(l=>{const [id,a,b,s]=l.split(',');return {name:id!,born:+a!,dies:+b!,bytes:+s!}});
